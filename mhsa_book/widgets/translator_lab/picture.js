// @ts-check
// The weights of one head, large: a table with a frame around words that translate each other.

import { onWeight } from "../shared/colours.js";
import { el, scroller } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { alignedOf, sides } from "./running.js";
import { named } from "./strip.js";

/** @import { Shown } from "./running.js" */

/** @type {Record<string, string[]>} */
const KINDS = {
  encoder: ["The source looks at itself", "source word", "source word"],
  decoder: ["The translation looks at what was said", "word that is said", "word before it"],
  cross: ["The translation looks at the source", "word that is said", "source word"],
};

/** @type {(head: string) => string[]} */
export const kindOf = (head) => KINDS[head.split(" ")[0]];

/** A weight as a cell has room for it: in hundredths. @type {(weight: number) => string} */
const hundredths = (weight) => (weight >= 0.005 ? `${Math.round(100 * weight)}` : "");

/**
 * The table of a head; `choose` hears which word of the translation was pressed.
 * @param {(word: number) => void} choose
 * @param {AbortSignal} signal
 */
export function picture(choose, signal) {
  const [title, note] = [el("p", { class: "mhsa-title" }), el("p", { class: "mhsa-quiet" })];
  const table = el("table", { class: "mhsa-map" });
  const node = el(
    "div",
    { class: "mhsa-big" },
    title,
    scroller("Weights of the head", table),
    note,
  );
  let translation = false; // whether the rows are words of the translation
  const pressed = (/** @type {Event} */ { target }) => {
    const row = /** @type {Element} */ (target).closest("tbody tr");
    if (row && translation) choose([...(row.parentElement?.children ?? [])].indexOf(row));
  };
  table.addEventListener("click", pressed, { signal });

  /** @type {(shown: Shown) => void} */
  function draw(shown) {
    const { head, weights, off, word, signs } = shown;
    const { rows, columns } = sides(shown);
    const cross = head.startsWith("cross");
    const [gold, looks] = [cross ? alignedOf(shown) : [], weights[head]];
    translation = !head.startsWith("encoder") && looks !== undefined;
    const [what, query, key] = kindOf(head);
    const silent = off.includes(head) ? " It is off: it looks, but what it finds is not used." : "";
    title.textContent = looks ? `${head}: ${what}.${silent}` : "Which words translate each other";
    note.textContent =
      (looks ? "Weights in hundredths. " : "")
      + (cross ? "A frame: these words translate each other, by the rules." : "");
    const corner = el(
      "td",
      {},
      el("span", { class: "mhsa-axes" }, `${query} ↓`, el("br"), `${key} →`),
    );
    const top = columns.map((text) =>
      el("th", { scope: "col", title: named(text, signs.end) }, el("span", {}, text)),
    );
    const lines = rows.map((text, q) => {
      const chosen = translation && q === word;
      const cells = columns.map((_, k) => {
        const weight = looks?.[q]?.[k];
        const known = gold[q]?.includes(k) ?? false;
        const told = known ? el("span", { class: "mhsa-hidden" }, " (translate each other)") : null;
        const style = weight === undefined ? null : onWeight(weight);
        const look = known ? "mhsa-gold" : null;
        return el("td", { style, class: look }, hundredths(weight ?? 0), told);
      });
      return el(
        "tr",
        { class: chosen ? "mhsa-asks" : null },
        el("th", { scope: "row" }, text),
        cells,
      );
    });
    table.setAttribute("aria-label", looks ? `Weights of ${head}, in hundredths` : "Alignment");
    table.replaceChildren(el("thead", {}, el("tr", {}, corner, top)), el("tbody", {}, lines));
    table.classList.toggle("mhsa-off", off.includes(head));
  }
  return { node, draw };
}

/** Where a word looks most, in words. @type {(shown: Shown) => string} */
export function lookedAt(shown) {
  const { head, weights, word, off, signs } = shown;
  if (head.startsWith("encoder") || !weights[head]) return "";
  const { columns } = sides(shown);
  const looks = weights[head][word];
  const best = looks.indexOf(Math.max(...looks));
  const found = columns[best] === signs.begin ? "the beginning" : `“${columns[best]}”`;
  const silent = off.includes(head) ? ", which is off," : "";
  return `${head}${silent} looks at ${found} (${fixed(looks[best])})`;
}
