// @ts-check
// The composed map of every head: a cell for each pair, and the sum of each row beside it.

import { el } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { rove } from "../shared/roving_tabindex.js";
import { onSigned } from "../shared/signed.js";
import { spelled } from "../shared/tokens.js";
import { sumsOf } from "./composing.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @typedef {(query: number, key: number) => void} Choose */

/**
 * The map of one head; arrow keys go through it, a press or Enter chooses a pair.
 * @param {number} h @param {string[]} tokens @param {Choose} choose @param {AbortSignal} signal
 */
function gridOf(h, tokens, choose, signal) {
  const cells = tokens.map(() =>
    tokens.map(() => el("button", { type: "button", class: "mhsa-pair" })),
  );
  const sums = tokens.map(() => el("td", { class: "mhsa-number" }));
  const names = tokens.map((token) => el("th", { scope: "col" }, spelled(token, 5)));
  const rows = tokens.map((token, q) => {
    const pairs = cells[q].map((cell) => el("td", {}, cell));
    return el("tr", {}, el("th", { scope: "row" }, spelled(token, 5)), pairs, sums[q]);
  });
  const label = `composed weights of head ${h}, query by key`;
  const top = el("tr", {}, el("td"), names, el("th", { scope: "col" }, "sum"));
  const table = el("table", { "aria-label": label }, el("thead", {}, top), el("tbody", {}, rows));
  const node = el("div", {}, el("p", { class: "mhsa-title" }, `head ${h}`), table);
  const flat = cells.flat();
  const settle = rove(flat, tokens.length, signal);
  flat.forEach((cell, i) => {
    const press = () => choose(Math.floor(i / tokens.length), i % tokens.length);
    cell.addEventListener("click", press, { signal });
  });

  /** @type {(rows: Matrix, query: number, key: number) => void} */
  function draw(rows, query, key) {
    settle(query * tokens.length + key);
    sumsOf(rows).forEach((sum, q) => {
      sums[q].textContent = fixed(sum);
    });
    rows.forEach((row, q) =>
      row.forEach((weight, k) => {
        const cell = cells[q][k];
        cell.style.cssText = onSigned(weight);
        cell.textContent = weight < 0 ? "−" : "";
        cell.setAttribute("aria-pressed", `${q === query && k === key}`);
        cell.setAttribute(
          "aria-label",
          `head ${h}, ${tokens[q]} looks at ${tokens[k]}: ${fixed(weight)}`,
        );
      }),
    );
  }
  return { node, draw };
}

/** How the colours are read. */
const legend = () =>
  el(
    "p",
    { class: "mhsa-key" },
    "Rows are queries, columns keys. ",
    ["−1", "0", "1"].map((text, i) =>
      el("span", { class: "mhsa-swatch", style: onSigned(i - 1) }, text),
    ),
    " A − marks a weight below 0; beyond −1 and 1 the colour stays. Press a cell: its pair.",
  );

/**
 * @param {number} nHeads @param {string[]} tokens @param {Choose} choose
 * @param {AbortSignal} signal
 */
export function gridsOf(nHeads, tokens, choose, signal) {
  const grids = Array.from({ length: nHeads }, (_, h) => gridOf(h, tokens, choose, signal));
  const maps = el(
    "div",
    { class: "mhsa-grids" },
    grids.map(({ node }) => node),
  );
  /** @type {(composed: Matrix[], query: number, key: number) => void} */
  const draw = (composed, query, key) =>
    grids.forEach((one, h) => one.draw(composed[h], query, key));
  return { node: el("div", {}, maps, legend()), draw };
}
