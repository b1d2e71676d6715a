// @ts-check
// What a reader did, kept in this browser: answers, settings of figures, exercises that are done.

/**
 * One page's part of it, by the text of a quiz, the id of a figure and of an exercise; `quizzes`
 * counts those that are answered, and all of them.
 * @typedef {{ answers: Record<string, State>, figures: Record<string, State>,
 *   exercises: Record<string, boolean>, quizzes: [number, number] }} KeptPage
 */

const kept = (() => {
  const BOOK = "mhsa-book:"; // pages opened from files share one storage with all other files

  /** The name of a page of the book, by its address. @type {(address: string) => string} */
  function pageAt(address) {
    const root = new URL(document.documentElement.dataset.content_root ?? ".", location.href);
    return new URL(address, location.href).pathname
      .replace(root.pathname, "")
      .replace(/\.html$/, "");
  }

  /** @type {() => Storage | null} */
  function storage() {
    try {
      return window.localStorage;
    } catch {
      return null; // the browser was told to keep nothing
    }
  }

  /** Whether anything lasts here. */
  function lasts() {
    try {
      storage()?.setItem(BOOK, "");
      storage()?.removeItem(BOOK);
      return storage() !== null;
    } catch {
      return false; // full, or closed
    }
  }

  /** @type {(value: unknown) => Record<string, any>} */
  const record = (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

  /**
   * What is kept of a page; whatever else stands there is left out.
   * @type {(page: string) => KeptPage}
   */
  function read(page) {
    let found = /** @type {Record<string, any>} */ ({});
    try {
      found = record(JSON.parse(storage()?.getItem(BOOK + page) ?? "{}"));
    } catch {
      // written by somebody else, or cut off: as if nothing were there
    }
    const counts = Array.isArray(found.quizzes) ? found.quizzes : [];
    const [answered, of] = [0, 1].map((i) => (Number.isInteger(counts[i]) ? counts[i] : 0));
    return {
      answers: record(found.answers),
      figures: record(found.figures),
      exercises: record(found.exercises),
      quizzes: [answered, of],
    };
  }

  /** @type {(page: string, change: (page: KeptPage) => void) => void} */
  function write(page, change) {
    const now = read(page);
    change(now);
    const empty = [now.answers, now.figures, now.exercises].every((r) => !Object.keys(r).length);
    try {
      if (empty) storage()?.removeItem(BOOK + page);
      else storage()?.setItem(BOOK + page, JSON.stringify(now));
    } catch {
      return; // it lasts until the page is closed, as the page says
    }
  }

  function forget() {
    const all = storage();
    const keys = all ? Object.keys(all).filter((key) => key.startsWith(BOOK)) : [];
    for (const key of keys) all?.removeItem(key);
  }

  return { pageAt, lasts, read, write, forget };
})();
