// @ts-check
// Of tokens, heads and weights those that are left, in an order.

import { MEASURES } from "./measures.js";

/** @import { MeasuresOf, Weights } from "./measures.js" */

const LEAST = 0.01;
const ELSEWHERE = ["entropy", "first", "confidence"];

/**
 * The measures that mean something: to keys that are other tokens there is no distance.
 * @type {(attention: { tokens: string[], keys: string[] }) => string[]}
 */
export const fitting = ({ tokens, keys }) =>
  Object.keys(MEASURES).filter(
    (name) =>
      ELSEWHERE.includes(name) || tokens.every((token, i) => token === keys.at(i - tokens.length)),
  );

/**
 * The positions of the tokens that are not hidden.
 * @type {(tokens: string[], hidden: string[]) => number[]}
 */
export const kept = (tokens, hidden) =>
  tokens.map((_, i) => i).filter((i) => !hidden.includes(tokens[i]));

/**
 * Weights of all heads at these rows and columns; `divide` makes each row sum to 1 again, where
 * more than a hundredth of it is left: of less, what stays is mostly rounding.
 * @type {(weights: Weights, shape: number[], rows: number[], columns: number[],
 *   divide?: boolean) => Float64Array}
 */
export function pick(weights, shape, rows, columns, divide = false) {
  const [layers, heads, queries, keys] = shape;
  const picked = new Float64Array(layers * heads * rows.length * columns.length);
  let at = 0;
  for (let head = 0; head < layers * heads; head += 1) {
    for (const row of rows) {
      const from = (head * queries + row) * keys;
      let sum = 0;
      for (let j = 0; j < columns.length; j += 1) {
        picked[at + j] = weights[from + columns[j]];
        sum += picked[at + j];
      }
      if (divide && sum > LEAST) for (let j = 0; j < columns.length; j += 1) picked[at + j] /= sum;
      at += columns.length;
    }
  }
  return picked;
}

/**
 * `n` heads in the order of a measure, largest first; in the model's own for any other name.
 * @type {(n: number, measuresOf: MeasuresOf, name: string) => number[]}
 */
export function ranked(n, measuresOf, name) {
  const order = Array.from({ length: n }, (_, i) => i);
  if (!(name in MEASURES)) return order;
  const values = order.map((i) => measuresOf(i)[name]);
  /** @type {(i: number) => number} */
  const value = (i) => (Number.isNaN(values[i]) ? -Infinity : values[i]);
  return order.sort((i, j) => value(j) - value(i) || i - j);
}

/**
 * The `n` largest of some weights with their places; what rounds to 0.0000 is left out.
 * @type {(weights: number[], n: number) => { weight: number, place: number }[]}
 */
export function strongest(weights, n) {
  return weights
    .map((weight, place) => ({ weight, place }))
    .filter(({ weight }) => weight >= 0.00005)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, n);
}
