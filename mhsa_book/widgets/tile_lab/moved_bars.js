// @ts-check
// Bytes between large and fast memory: of the five stages, of the loop, and of the loop so far.

import { el } from "../shared/elements.js";
import { fixed, grouped } from "../shared/numbers.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { together } from "./tiles.js";

/** @import { MovedBytes } from "./tiles.js" */
/** @typedef {Record<string, MovedBytes>} MovedByName */

/** @type {[part: keyof MovedBytes, words: string][]} */
const PARTS = [
  ["q_z", "q and z"],
  ["k_v", "k and v"],
  ["tables", "scores and weights"],
];

/** Bytes, or MB where there are many. @type {(most: number) => (count: number) => string} */
const inUnit = (most) => (most < 1e5 ? grouped : (count) => fixed(count / 1e6, 1));

/** @type {(count: number) => string} */
export const inBytes = (count) =>
  count < 1e5 ? `${grouped(count)} bytes` : `${fixed(count / 1e6, 1)} MB`;

/** A bar of parts for each, on one scale. @type {(all: MovedByName) => HTMLElement[]} */
export function movedBars(all) {
  const most = Math.max(...Object.values(all).map(together));
  return Object.entries(all).map(([name, moved]) => {
    const parts = PARTS.map(([part]) => {
      const width = `width:${(100 * moved[part]) / most}%`;
      return el("span", { class: `mhsa-part mhsa-${part}`, style: width });
    });
    const cells = [rowName(name), el("td", { class: "mhsa-track" }, parts)];
    return el("tr", {}, cells, numberCell(inBytes(together(moved))));
  });
}

/**
 * The same as numbers; its first column says which part is which.
 * @type {(all: MovedByName) => HTMLElement}
 */
export function movedTable(all) {
  const sums = Object.values(all).map(together);
  const text = inUnit(Math.max(...sums));
  const unit = Math.max(...sums) < 1e5 ? "bytes" : "MB";
  const rows = PARTS.map(([part, words]) => {
    const sample = el("span", { class: `mhsa-part mhsa-sample mhsa-${part}` });
    const title = el("th", { scope: "row" }, sample, words);
    return el(
      "tr",
      {},
      title,
      Object.values(all).map((moved) => numberCell(text(moved[part]))),
    );
  });
  const last = el(
    "tr",
    {},
    rowName("together"),
    sums.map((sum) => numberCell(text(sum))),
  );
  const about = { "aria-label": "Bytes read and written, by what they are" };
  const head = tableHead([`${unit} moved`, ...Object.keys(all)], (i) => i > 0);
  return el("table", about, head, el("tbody", {}, rows, last));
}
