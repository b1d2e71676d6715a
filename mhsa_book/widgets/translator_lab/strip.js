// @ts-check
// The translation word by word: what was said, how sure, and where it is wrong the right word.

import { el } from "../shared/elements.js";
import { clamp, fixed } from "../shared/numbers.js";

/** @import { Shown } from "./running.js" */

/** What a mark says, to those who look and those who listen. */
const MARKS = {
  right: ["✓", ""],
  wrong: ["✗", "wrong, right is"],
  extra: ["✗", "one too many"],
  missing: ["∅", "missing"],
};

/** The end of a sentence by its name. @type {(text: string, end: string) => string} */
export const named = (text, end) => (text === end ? "the end" : text);

/**
 * A step, what is wrong with it, its word and the right one.
 * @typedef {{ kind: keyof typeof MARKS, said: number | null, word: string, right: string }} Judged
 */
/** @type {(shown: Shown) => Judged[]} */
export function judged({ steps, said, right }) {
  return steps.map((step) => {
    const [word, fit] = [said[step.said ?? -1] ?? "", right[step.right ?? -1]?.text ?? ""];
    if (!step.wrong) return { kind: "right", said: step.said, word, right: fit };
    if (step.said === null) return { kind: "missing", said: null, word, right: fit };
    return { kind: step.right === null ? "extra" : "wrong", said: step.said, word, right: fit };
  });
}

/**
 * A strip of words; `choose` hears which was pressed.
 * @param {(word: number) => void} choose
 * @param {AbortSignal} signal
 */
export function translationStrip(choose, signal) {
  const node = el("div", {
    class: "mhsa-said-words",
    role: "group",
    "aria-label": "Translation; arrow keys choose a word",
  });
  const buttons = () => /** @type {HTMLButtonElement[]} */ ([...node.querySelectorAll("button")]);
  /** @type {(word: number) => void} */
  function go(word) {
    choose(word);
    buttons()[word].focus();
  }
  /** @type {(event: Event) => number} */
  const at = ({ target }) =>
    buttons().findIndex((one) => one.contains(/** @type {Node} */ (target)));
  const clicked = (/** @type {Event} */ event) => {
    if (at(event) >= 0) go(at(event));
  };
  /** @type {(event: KeyboardEvent) => void} */
  function keyed(event) {
    const last = buttons().length - 1;
    /** @type {Record<string, number>} */
    const to = { ArrowRight: at(event) + 1, ArrowLeft: at(event) - 1, Home: 0, End: last };
    if (to[event.key] === undefined || at(event) < 0) return;
    event.preventDefault();
    go(clamp(to[event.key], 0, last));
  }
  node.addEventListener("click", clicked, { signal });
  node.addEventListener("keydown", keyed, { signal });

  /** @type {(shown: Shown) => void} */
  function draw(shown) {
    const focused = buttons().findIndex((one) => one === document.activeElement);
    const { chances, word: chosen, signs } = shown;
    const parts = judged(shown).map(({ kind, said, word, right }) => {
      const [mark, words] = MARKS[kind];
      const look = `mhsa-one mhsa-${kind}`;
      const beside = kind === "wrong" || kind === "missing" ? el("b", {}, right) : null;
      const sign = el("span", { class: "mhsa-mark", "aria-hidden": "true" }, mark);
      if (said === null) {
        const text = el("span", { class: "mhsa-hidden" }, `${words}: `);
        return el("span", { class: look }, sign, text, beside);
      }
      const name = `${named(word, signs.end)}, ${fixed(chances[said])}`;
      const verdict = kind === "right" ? "" : `; ${words} ${named(right, signs.end)}`;
      const quiet = { "aria-hidden": "true" };
      const text = el(kind === "right" ? "span" : "s", { ...quiet, class: "mhsa-text" }, word);
      const chance = el("span", { ...quiet, class: "mhsa-chance" }, fixed(chances[said]));
      beside?.setAttribute("aria-hidden", "true");
      const spoken = el("span", { class: "mhsa-hidden" }, `${name}${verdict}`.trim());
      const node = el(
        "button",
        { type: "button", class: look },
        sign,
        text,
        beside,
        chance,
        spoken,
      );
      node.setAttribute("aria-pressed", `${said === chosen}`);
      node.tabIndex = said === chosen ? 0 : -1;
      return node;
    });
    node.replaceChildren(...parts);
    if (focused >= 0) buttons()[clamp(focused, 0, buttons().length - 1)]?.focus();
  }
  return { node, draw };
}
