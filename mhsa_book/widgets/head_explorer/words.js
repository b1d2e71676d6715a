// @ts-check
// What weights say in words, and as a table.

import { el } from "../shared/elements.js";
import { fixed, total } from "../shared/numbers.js";
import { quoted, spelled } from "../shared/tokens.js";
import { strongest } from "./head_filters.js";

/** @import { Token } from "./measures.js" */

/**
 * What one weight says, in a sentence; `row` is the sum of its row, `whole` what it is a share of.
 * @type {(weight: number, query: string, key: string, row: number, whole: string) => string}
 */
export function sentence(weight, query, key, row, whole) {
  if (row === 0) return `${quoted(query)} looks at nothing: its row is 0 everywhere.`;
  const share = weight === 0 ? "exactly 0" : `${fixed(weight, 4)} of ${whole}`;
  return `${quoted(query)} gives ${quoted(key)} ${share}.`;
}

/** @type {(weight: number) => string} */
export const exact = (weight) => (weight === 0 ? "0" : fixed(weight, 4));

/**
 * What a list of the strongest is about.
 * @type {(byKey: boolean, query: string, key: string, line: number[]) => string}
 */
export function about(byKey, query, key, line) {
  if (!byKey) return `Where does ${quoted(query)} look?`;
  const sum = fixed(total(line));
  return `Who looks at ${quoted(key)}? ${line.length} queries give it ${sum} in all.`;
}

/**
 * The strongest of a row or a column; `marked` is the one in question.
 * @type {(line: number[], tokens: Token[], marked: number) => HTMLElement[]}
 */
export const strongestItems = (line, tokens, marked) =>
  strongest(line, 5).map(({ weight, place }) => {
    const name = el("bdi", {}, spelled(tokens[place].token));
    const bar = el("span", { style: `--share:${weight}` });
    const look = { class: place === marked ? "mhsa-marked" : null };
    return el("li", look, name, bar, fixed(weight, 4));
  });

/**
 * A table whose numbers are filled in later, as text of its cells.
 * @type {(queries: Token[], keys: Token[]) => { cells: Text[], caption: HTMLElement,
 *   node: HTMLElement }}
 */
export function weightTable(queries, keys) {
  const count = queries.length * keys.length;
  const cells = Array.from({ length: count }, () => document.createTextNode(""));
  /** @type {(scope: string, token: Token) => HTMLElement} */
  const name = (scope, { token }) => el("th", { scope }, el("bdi", {}, spelled(token)));
  const caption = el("caption");
  const rows = queries.map((query, i) => {
    const line = cells.slice(i * keys.length, (i + 1) * keys.length);
    const numbers = line.map((cell) => el("td", { class: "mhsa-number" }, cell));
    return el("tr", {}, name("row", query), numbers);
  });
  const titles = keys.map((key) => name("col", key));
  const look = { class: "mhsa-twin", style: `width:${4.2 * keys.length + 7}em` };
  const node = el("table", look, caption, el("tr", {}, el("td"), titles), rows);
  return { cells, caption, node };
}
