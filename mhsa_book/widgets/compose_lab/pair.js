// @ts-check
// One pair: its numbers, the map that mixes them, and what comes out, as one table.

import { el } from "../shared/elements.js";
import { fixed, upTo } from "../shared/numbers.js";
import { onSigned } from "../shared/signed.js";

/** @import { Matrix } from "../shared/tensor.js" */

/** A number on its colour. @type {(cell: HTMLElement, value: number) => void} */
export function colourCell(cell, value) {
  cell.textContent = fixed(value);
  cell.style.cssText = onSigned(value);
}

/** @param {number} nHeads */
export function pairTable(nHeads) {
  const heads = upTo(nHeads);
  /** @type {() => HTMLElement} */
  const cell = () => el("td", { class: "mhsa-number" });
  const given = heads.map(cell);
  const cells = heads.map(() => heads.map(cell));
  const results = heads.map(cell);
  const title = el("p", { class: "mhsa-title" });
  const titles = ["from", "a", ...heads.map((h) => `to head ${h}`)];
  const rows = heads.map((i) => {
    const name = el("th", { scope: "row" }, `head ${i}`);
    return el("tr", {}, name, given[i], cells[i]);
  });
  const last = el("th", { scope: "row", colspan: 2 }, "composed, a′");
  const table = el(
    "table",
    { class: "mhsa-of-pair", "aria-label": "the pair" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        titles.map((text) => el("th", { scope: "col" }, text)),
      ),
    ),
    el("tbody", {}, rows, el("tr", { class: "mhsa-composed" }, last, results)),
  );
  const node = el("div", { class: "mhsa-part" }, title, table);

  /** @type {(words: string, a: number[], map: Matrix, after: number[]) => void} */
  function draw(words, a, map, after) {
    title.textContent = words;
    a.forEach((number, i) => colourCell(given[i], number));
    map.forEach((row, i) => row.forEach((number, j) => colourCell(cells[i][j], number)));
    after.forEach((number, j) => colourCell(results[j], number));
  }
  return { node, draw };
}
