// @ts-check
// What happens to every row of a Transformer alone: sums, linear maps, norms, feed-forward parts.

import { dot } from "../shared/tensor.js";

/** @import { Matrices } from "../shared/halves.js" */
/** A token's vector. @typedef {Float64Array} Row */

const TINY = 1e-5; // keeps a norm from dividing by zero

/** @type {(a: Row, b: Row) => Row} */
export const plus = (a, b) => a.map((value, i) => value + b[i]);

/**
 * A row times a weight that is stored as nn.Linear stores it, (out, in).
 * @type {(row: Row, weight: Row[]) => Row}
 */
export function times(row, weight) {
  const out = new Float64Array(weight.length);
  for (let i = 0; i < weight.length; i += 1) {
    const column = weight[i]; // all time goes by here: a loop of its own is twice as fast
    let sum = 0;
    for (let k = 0; k < row.length; k += 1) sum += row[k] * column[k];
    out[i] = sum;
  }
  return out;
}

/**
 * Mean 0 and variance 1, then a scale and a shift.
 * @type {(row: Row, model: Matrices, path: string) => Row}
 */
export function norm(row, model, path) {
  const [[scale], [shift]] = [model[`${path}.weight`], model[`${path}.bias`]];
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const off = row.map((value) => value - mean);
  const deviation = Math.sqrt(dot(off, off) / row.length + TINY);
  return off.map((value, i) => (value / deviation) * scale[i] + shift[i]);
}

/** @type {(row: Row, model: Matrices, path: string) => Row} */
function feedForward(row, model, path) {
  const wide = plus(times(row, model[`${path}.W_1.weight`]), model[`${path}.W_1.bias`][0]);
  const bent = wide.map((value) => Math.max(0, value));
  return plus(times(bent, model[`${path}.W_2.weight`]), model[`${path}.W_2.bias`][0]);
}

/**
 * What a token adds to itself, alone.
 * @type {(row: Row, model: Matrices, path: string) => Row}
 */
export const fed = (row, model, path) =>
  plus(
    row,
    feedForward(norm(row, model, `${path}.feed_forward_norm`), model, `${path}.feed_forward`),
  );
