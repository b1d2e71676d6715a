// @ts-check
// What the book adds to its figures: they come back as the reader left them, or as a link shows
// them; a button brings the start back, and one copies a link to what is seen.

/** @typedef {import("../mhsa_book/widgets/shared/traits.js").Model} Model */
/** @typedef {{ model: Model, state: State, restart: (state: State) => void }} Born */
/** A figure that lives on this page. @typedef {Born & { el: HTMLElement, start: State }} Living */

const living = (() => {
  const page = () => kept.pageAt("");
  const all = /** @type {Map<HTMLElement, Living>} */ (new Map());
  const QUIZ = "mhsa-predict";
  const MISSED = "The link does not fit this figure, which shows its start.";
  const NOT_HERE = "The link leads to a figure that is not on this page any more.";

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
    if (linkedFigure(new URLSearchParams(location.search)) === el.id) {
      showAddress(location.pathname + location.hash);
    }
    say(el, "");
    document.dispatchEvent(new CustomEvent("mhsa-kept"));
  }

  /** @type {(el: HTMLElement, text: string) => void} */
  function say(el, text) {
    const status = el.querySelector(".mhsa-foot [role=status]");
    if (status) status.textContent = text;
  }

  /** How many quizzes of this page are answered, and how many there are. */
  function quizzes() {
    const states = [...all.values()].filter(({ el }) => isQuiz(el)).map(({ state }) => state);
    const done = states.filter(({ correct, shown }) => correct === true || shown === true);
    return /** @type {[number, number]} */ ([done.length, states.length]);
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

  /** As at the start, above its foot, which keeps the focus. @type {(one: Living) => void} */
  function again({ el, start, restart }) {
    restart(structuredClone(start));
    el.querySelector(".mhsa-foot")?.before(...el.querySelectorAll(".mhsa-body"));
    say(el, "");
  }

  /** Under a figure: back to its start, and a link. @type {(one: Living) => HTMLElement} */
  function foot(one) {
    const { el, state } = one;
    const rules = rulesOf(el);
    const node = document.createElement("div");
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    const own = Object.values(rules).some(({ own }) => own) ? "typed numbers" : "";
    const without = el.dataset.mhsaWithout ?? own;
    async function copy() {
      const link = viewLink(location.href, el.id, state, rules);
      const there = showAddress(link);
      try {
        await navigator.clipboard.writeText(link);
        said.textContent = "Link copied.";
      } catch {
        said.textContent = there ? "Copy it from the address bar." : link;
      }
    }
    const back = button("Reset", () => {
      again(one);
      keep(one);
      say(el, "As at the start.");
    });
    node.className = "mhsa-foot";
    node.append(
      back,
      button(`Copy link to this view${without && `, without ${without}`}`, copy),
      said,
    );
    return node;
  }

  /** @type {(el: HTMLElement, said: string) => void} */
  function arrive(el, said) {
    say(el, said);
    el.tabIndex = -1;
    el.focus({ preventScroll: true });
    const show = () => el.scrollIntoView({ block: "start" });
    show();
    if (document.readyState !== "complete") addEventListener("load", show, { once: true });
  }

  document.addEventListener("mhsa-before-mount", (event) => {
    const el = /** @type {HTMLElement} */ (event.target);
    const { model, state, restart } = /** @type {CustomEvent<Born>} */ (event).detail;
    const rules = rulesOf(el);
    const start = structuredClone(settingsOf(state, rules));
    const one = { el, model, state, start, restart };
    all.set(el, one);
    const linked = viewFrom(location.href, el.id, rules);
    Object.assign(state, linked === null ? fitting(found(one), rules) : (linked ?? {}));
    model.save_changes = () => keep(one);
    el.addEventListener("mhsa-alive", () => {
      if (!isQuiz(el) && el.id) el.append(foot(one));
      if (linked !== null) arrive(el, linked ? "As the link shows it." : MISSED);
      document.dispatchEvent(new CustomEvent("mhsa-kept"));
    });
  });

  document.addEventListener("DOMContentLoaded", () => {
    const id = linkedFigure(new URLSearchParams(location.search));
    if (id === null || document.getElementById(id)) return;
    const line = document.createElement("p");
    line.setAttribute("role", "status");
    line.textContent = NOT_HERE;
    document.querySelector("article")?.prepend(line);
  });

  /** Every figure as at the start. */
  function restartAll() {
    for (const one of all.values()) again(one);
  }

  return { page, quizzes, restartAll };
})();
