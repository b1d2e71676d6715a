// @ts-check
// What is done, in the contents and at the end of a chapter; exercises to tick; one button that
// forgets all of it.

(() => {
  const HERE = "Your answers, ticks and settings stay in this browser; nothing is sent.";
  const NOWHERE = "This browser keeps nothing: your answers last until this page is closed.";
  const REALLY = "Forget your answers, ticks and settings on all pages of this book?";

  /** @type {(tag: string, kind: string, ...inside: (Node | string)[]) => HTMLElement} */
  function made(tag, kind, ...inside) {
    const node = document.createElement(tag);
    node.className = kind;
    node.append(...inside);
    return node;
  }

  /** A mark for eyes, words for ears. @type {(quizzes: [number, number]) => HTMLElement} */
  function mark([answered, of]) {
    const all = answered === of;
    const words = all ? "all quizzes answered" : `${answered} of ${of} quizzes answered`;
    const sign = made("span", "book-sign", all ? "✓" : `${answered}/${of}`);
    sign.setAttribute("aria-hidden", "true");
    const node = made("span", "book-mark", sign, made("span", "visually-hidden", `, ${words}`));
    node.title = words;
    return node;
  }

  /** @type {() => void} */
  function markContents() {
    const links = document.querySelectorAll(".bd-sidebar-primary nav.bd-links a.internal");
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (links)) {
      link.querySelector(".book-mark")?.remove();
      const page = kept.pageAt(link.getAttribute("href") ?? "");
      const counts = page === living.page() ? living.quizzes() : kept.read(page).quizzes;
      if (counts[0] > 0) link.append(mark(counts));
    }
  }

  /** @type {() => HTMLInputElement[]} */
  const ticks = () => [...document.querySelectorAll("input")].filter((box) => box.name === "done");

  /** A box to tick at the end of each exercise. */
  function addTicks() {
    const { exercises } = kept.read(living.page());
    for (const exercise of document.querySelectorAll("div.exercise[id]")) {
      const box = document.createElement("input");
      Object.assign(box, {
        type: "checkbox",
        name: "done",
        checked: exercises[exercise.id] === true,
      });
      const title = exercise.querySelector(".caption-number")?.textContent?.trim() ?? "Exercise";
      box.setAttribute("aria-label", `${title} is done`);
      box.addEventListener("change", () => {
        kept.write(living.page(), (page) => {
          if (box.checked) page.exercises[exercise.id] = true;
          else delete page.exercises[exercise.id];
          page.quizzes = living.quizzes();
        });
        show();
      });
      exercise.append(made("label", "book-done", box, "Done"));
    }
  }

  /** @type {() => HTMLElement} */
  function forgetButton() {
    const node = made("button", "book-forget", "Forget all of it");
    node.setAttribute("type", "button");
    node.addEventListener("click", () => {
      if (!confirm(REALLY)) return;
      kept.forget();
      living.restartAll();
      for (const box of ticks()) box.checked = false;
      show();
    });
    return node;
  }

  const counted = made("p", "book-counted");
  counted.setAttribute("role", "status");

  function show() {
    const [answered, of] = living.quizzes();
    const boxes = ticks();
    const done = boxes.filter(({ checked }) => checked).length;
    const quizzes = of ? [`Quizzes answered: ${answered} of ${of}.`] : [];
    const exercises = boxes.length ? [`Exercises done: ${done} of ${boxes.length}.`] : [];
    counted.textContent = [...quizzes, ...exercises].join(" ");
    markContents();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const words = kept.lasts() ? HERE : NOWHERE;
    addTicks();
    const something = document.querySelector("article :is([data-mhsa-figure], div.exercise)");
    if (something) {
      const about = made("section", "book-kept", counted, made("p", "", words), forgetButton());
      about.setAttribute("aria-label", "What you did on this page");
      document.querySelector("article")?.append(about);
    }
    const side = made("section", "book-kept", made("p", "", words), forgetButton());
    side.setAttribute("aria-label", "What you did in this book");
    document.querySelector(".bd-sidebar-primary .sidebar-primary-items__start")?.append(side);
    show();
  });
  document.addEventListener("mhsa-kept", show);
  window.addEventListener("storage", show); // another tab wrote

  // A button that shows a solution is named after it: four of one name are one to the ear.
  window.addEventListener("load", () => {
    for (const button of document.querySelectorAll(".admonition-title > .toggle-button")) {
      const title = button.parentElement?.textContent?.trim().replace(/\s+/g, " ");
      button.setAttribute("aria-label", `${title}: show or hide`);
    }
  });
})();
