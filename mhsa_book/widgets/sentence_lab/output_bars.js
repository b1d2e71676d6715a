// @ts-check
// What a word has learned: the named numbers of its y, each a bar cut by the head that wrote it.

import { el } from "../shared/elements.js";
import { fixed, total } from "../shared/numbers.js";
import { most } from "./attended.js";

/** @import { Head } from "./attended.js" */
/** @import { Seen } from "./question_and_answer.js" */

/** The columns that some head writes. @type {(all: Head[][]) => number[]} */
export const writtenColumns = (all) =>
  all[0][0].part[0].flatMap((_, c) =>
    all.flat().some(({ part }) => part.some((row) => row[c] > 0.5)) ? [c] : [],
  );

/** A row: the name of a column, a part for each head, the sum, and which words it came from. */
/** @param {string} name @param {number} n heads */
function row(name, n) {
  const parts = Array.from({ length: n }, (_, h) => el("span", { class: `mhsa-part-${h}` }));
  const [number, from] = [el("td", { class: "mhsa-number" }), el("td", { class: "mhsa-from" })];
  const bar = el("td", { class: "mhsa-bars", "aria-hidden": "true" }, el("div", {}, parts));
  const node = el("tr", {}, el("th", { scope: "row" }, name), bar, number, from);
  /** @type {(values: number[], largest: number, words: string[]) => void} */
  function draw(values, largest, words) {
    const sum = total(values);
    parts.forEach((part, h) => {
      part.style.width = `${(100 * Math.max(values[h], 0)) / largest}%`;
      part.classList.toggle("mhsa-none", values[h] < 0.05);
    });
    number.textContent = fixed(sum);
    node.classList.toggle("mhsa-nothing", sum < 0.05);
    const found = words.filter((_, h) => values[h] > 0.05);
    from.textContent = [...new Set(found)].join(" + ");
  }
  return { node, draw };
}

/** @param {string[]} names of all columns @param {Head[][]} all heads of all sentences */
export function outputBars(names, all) {
  const shown = writtenColumns(all);
  const n = all[0].length;
  const largest = Math.max(
    ...all.flatMap((heads) =>
      heads[0].part.flatMap((_, w) => shown.map((c) => total(heads.map((h) => h.part[w][c])))),
    ),
  );
  const rows = shown.map((c) => row(names[c], n));
  const caption = el("caption");
  const titles = ["says", "by head", "number", "from the word"].map((title) =>
    el("th", { scope: "col" }, title),
  );
  const node = el(
    "table",
    { class: "mhsa-learned" },
    caption,
    el("thead", {}, el("tr", {}, titles)),
    el(
      "tbody",
      {},
      rows.map((one) => one.node),
    ),
  );
  /** @type {(seen: Seen, w: number, off: number[]) => void} */
  function draw({ words, heads }, w, off) {
    caption.textContent = `What “${words[w]}” has learned`;
    const looked = heads.map(({ weights }) => words[most(weights[w])]);
    rows.forEach((one, i) => {
      const values = heads.map(({ part }, h) => (off.includes(h) ? 0 : part[w][shown[i]]));
      one.draw(values, largest, looked);
    });
  }
  return { node, draw };
}
