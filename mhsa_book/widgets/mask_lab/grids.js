// @ts-check
// Tables of query rows and key columns.

import { onWeight } from "../shared/colours.js";
import { el } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Mask } from "./rules.js" */
/** @typedef {ReturnType<typeof grid>} Grid */

/**
 * `cells[query][key]` are its data cells.
 * @param {string[]} tokens @param {string} label @param {string} look
 */
export function grid(tokens, label, look) {
  const cells = tokens.map(() => tokens.map(() => el("td")));
  const names = tokens.map((token) => el("th", { scope: "col" }, token));
  const rows = tokens.map((token, query) =>
    el("tr", {}, el("th", { scope: "row" }, token), cells[query]),
  );
  const about = { class: `mhsa-grid ${look}`, "aria-label": label };
  const top = el("thead", {}, el("tr", {}, el("td"), names));
  return { node: el("table", about, top, el("tbody", {}, rows)), cells };
}

/** @type {(grid: Grid, weights: Matrix, mask: Mask) => void} */
export function showWeights({ cells }, weights, mask) {
  weights.forEach((row, query) =>
    row.forEach((weight, key) => {
      const [cell, may] = [cells[query][key], mask[query][key]];
      cell.textContent = may ? fixed(weight) : "";
      cell.className = may ? "" : "mhsa-zero";
      cell.style.cssText = may ? onWeight(weight) : "";
    }),
  );
}
