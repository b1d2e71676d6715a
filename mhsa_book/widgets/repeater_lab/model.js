// @ts-check
// The trained model on plain arrays: the same forward pass as mhsa_book.models.repeater.

import { upTo } from "../shared/numbers.js";
import { dot, softmaxRow } from "../shared/tensor.js";

/** @import { Matrices } from "../shared/halves.js" */
/** A head, by its place. @typedef {number[]} HeadAt */
/**
 * What comes next for every token, and all weights.
 * @typedef {{ probabilities: number[][], weights: number[][][][] }} Ran
 */

/**
 * Probabilities of the next token (seq, token) and weights (layer, head, query, key); `off` holds
 * [layer, head] pairs.
 * @type {(model: Matrices, ids: number[], nLayers: number, nHeads: number, off?: HeadAt[]) => Ran}
 */
export function run(model, ids, nLayers, nHeads, off = []) {
  let stream = ids.map((id, i) => sum(model.tokens[id], model.positions[i]));
  /** @type {number[][][][]} */
  const weights = [];
  for (let layer = 0; layer < nLayers; layer += 1) {
    const silent = off.filter(([l]) => l === layer).map(([, head]) => head);
    const [q, k, v] = ["W_Q", "W_K", "W_V"].map((name) =>
      linear(stream, model[`${layer}.${name}`]),
    );
    const width = q[0].length / nHeads;
    const concat = ids.map(() => new Float64Array(q[0].length));
    const heads = upTo(nHeads).map((head) => {
      /** @type {(rows: Float64Array[]) => Float64Array[]} */
      const own = (rows) => rows.map((row) => row.subarray(head * width, (head + 1) * width));
      const [queries, keys, values, z] = [q, k, v, concat].map(own);
      const looks = queries.map((query, i) => {
        const seen = keys.slice(0, i + 1); // causal: the later keys are not even compared
        return softmaxRow(seen.map((key) => dot(query, key) / Math.sqrt(width)));
      });
      if (!silent.includes(head)) z.forEach((row, i) => mixInto(row, looks[i], values));
      return looks.map((row) => [...row, ...Array(ids.length - row.length).fill(0)]);
    });
    weights.push(heads);
    stream = linear(concat, model[`${layer}.W_O`]).map((row, i) => sum(row, stream[i]));
  }
  return {
    probabilities: linear(stream, model.unembed).map((row) => softmaxRow([...row])),
    weights,
  };
}

/**
 * Rows times a weight that is stored as nn.Linear stores it, (out, in).
 * @type {(rows: Float64Array[], weight: Float64Array[]) => Float64Array[]}
 */
function linear(rows, weight) {
  return rows.map((row) => {
    const out = new Float64Array(weight.length);
    for (let i = 0; i < weight.length; i += 1) out[i] = dot(row, weight[i]);
    return out;
  });
}

/** @type {(a: Float64Array, b: Float64Array) => Float64Array} */
function sum(a, b) {
  return a.map((value, i) => value + b[i]);
}

/** @type {(row: Float64Array, looks: number[], values: Float64Array[]) => void} */
function mixInto(row, looks, values) {
  for (let k = 0; k < looks.length; k += 1) {
    for (let i = 0; i < row.length; i += 1) row[i] += looks[k] * values[k][i];
  }
}

/**
 * Places of the `n` largest numbers, largest first.
 * @type {(numbers: ArrayLike<number>, n: number) => number[]}
 */
export function largest(numbers, n) {
  return upTo(numbers.length)
    .sort((a, b) => numbers[b] - numbers[a])
    .slice(0, n);
}
