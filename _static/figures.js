// @ts-check
// What the book adds to its figures: they come back as the reader left them, or as a link shows
// them; a button brings the start back, and one copies a link to what is seen.

/** @typedef {import("../mhsa_lib/widgets/shared/traits.js").Model} Model */
/** @typedef {{ model: Model, state: State, restart: (state: State) => void }} Born */
/** A figure that lives on this page. @typedef {Born & { el: HTMLElement, start: State }} Living */

const living = (() => {
  const page = () =>
    /** @type {any} */ (window).DOCUMENTATION_OPTIONS?.pagename ?? location.pathname;
  const all = /** @type {Map<HTMLElement, Living>} */ (new Map());
  const QUIZ = "mhsa-predict";
  const MISSED = "The link does not fit this figure, which shows its start.";

  /** @type {(el: HTMLElement) => Rules} */
  const rulesOf = (el) => JSON.parse(el.dataset.mhsaRules ?? "{}");
  /** @type {(el: HTMLElement) => boolean} */
  const isQuiz = (el) => el.classList.contains(QUIZ);

  /** What was kept of a figure, or what its link says. @type {(one: Living) => State} */
  function found({ el, state }) {
    const { answers, figures } = kept.read(page());
    if (isQuiz(el)) return answers[`${state.question}`] ?? {};
    return figures[el.id] ?? {};
  }

  /** @type {(one: Living) => void} */
  function keep({ el, state, start }) {
    const now = settingsOf(state, rulesOf(el));
    kept.write(page(), (all) => {
      const [place, name] = isQuiz(el) ? [all.answers, `${state.question}`] : [all.figures, el.id];
      if (alike(now, start)) delete place[name];
      else place[name] = now;
      all.quizzes = quizzes();
    });
    if (new URLSearchParams(location.search).get("view") === el.id) {
      address(location.pathname + location.hash);
    }
    document.dispatchEvent(new CustomEvent("mhsa-kept"));
  }

  /** How many quizzes of this page are answered, and how many there are. */
  function quizzes() {
    const states = [...all.values()].filter(({ el }) => isQuiz(el)).map(({ state }) => state);
    const done = states.filter(({ correct, shown }) => correct === true || shown === true);
    return /** @type {[number, number]} */ ([done.length, states.length]);
  }

  /** Whether the address bar could be changed. @type {(to: string) => boolean} */
  function address(to) {
    try {
      history.replaceState(null, "", to);
      return true;
    } catch {
      return false; // some browsers refuse it for files
    }
  }

  /** @type {(label: string, press: () => void) => HTMLButtonElement} */
  function button(label, press) {
    const node = document.createElement("button");
    node.type = "button";
    node.className = "mhsa-button";
    node.textContent = label;
    node.addEventListener("click", press);
    return node;
  }

  /** Under a figure: back to its start, and a link. @type {(one: Living) => HTMLElement} */
  function foot(one) {
    const { el, state, start, restart } = one;
    const rules = rulesOf(el);
    const node = document.createElement("div");
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    const typed = Object.values(rules).some(({ own }) => own) ? ", without typed numbers" : "";
    async function copy() {
      const link = viewLink(location.href, el.id, state, rules);
      const there = address(link);
      try {
        await navigator.clipboard.writeText(link);
        said.textContent = "Link copied.";
      } catch {
        said.textContent = there ? "Copy it from the address bar." : link;
      }
    }
    const back = button("Reset", () => {
      restart(structuredClone(start));
      el.append(node);
      said.textContent = "As at the start.";
      keep(one);
    });
    node.className = "mhsa-foot";
    node.append(back, button(`Copy link to this view${typed}`, copy), said);
    return node;
  }

  /** @type {(el: HTMLElement, said: string) => void} */
  function arrive(el, said) {
    const status = el.querySelector(".mhsa-foot [role=status]");
    if (status) status.textContent = said;
    el.tabIndex = -1;
    el.focus({ preventScroll: true });
    const show = () => el.scrollIntoView({ block: "start" });
    show();
    if (document.readyState !== "complete") addEventListener("load", show, { once: true });
  }

  document.addEventListener("mhsa-born", (event) => {
    const el = /** @type {HTMLElement} */ (event.target);
    const { model, state, restart } = /** @type {CustomEvent<Born>} */ (event).detail;
    const rules = rulesOf(el);
    const start = structuredClone(settingsOf(state, rules));
    const one = { el, model, state, start, restart };
    all.set(el, one);
    const linked = viewIn(location.href, el.id, rules);
    Object.assign(state, linked === null ? fitting(found(one), rules) : (linked ?? {}));
    model.save_changes = () => keep(one);
    el.addEventListener("mhsa-alive", () => {
      if (!isQuiz(el) && el.id) el.append(foot(one));
      if (linked !== null) arrive(el, linked ? "As the link shows it." : MISSED);
      document.dispatchEvent(new CustomEvent("mhsa-kept"));
    });
  });

  /** Every figure as at the start. */
  function restartAll() {
    for (const { el, start, restart } of all.values()) {
      restart(structuredClone(start));
      el.append(...el.querySelectorAll(".mhsa-foot"));
    }
  }

  return { page, quizzes, restartAll };
})();
