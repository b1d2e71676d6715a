// @ts-check
// The factor on the dot product, the spread of the scores, and what the softmax makes of them.

import { entropy, softmaxRow } from "../shared/tensor.js";

/** @import { Vectors } from "./random_vectors.js" */
/** @typedef {{ bits: number, share: number, largest: number, gradient: number }} Measured */

/**
 * Factors on the dot product, by name.
 * @type {Record<string, (d_head: number, temperature: number) => number>}
 */
export const FACTORS = {
  1: () => 1,
  "1/sqrt(d_head)": (d_head) => 1 / Math.sqrt(d_head),
  "1/d_head": (d_head) => 1 / d_head,
  "1/temperature": (_, temperature) => 1 / temperature,
};

/** @type {(scale: string, d_head: number, temperature: number) => number} */
export const factor = (scale, d_head, temperature) => FACTORS[scale](d_head, temperature);

/** @type {(rows: ArrayLike<number>[]) => number} */
export function variance(rows) {
  const values = rows.flatMap((row) => Array.from(row));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}

/**
 * The variance of single products of a query's and a key's component, over all pairs.
 * @type {(vectors: Vectors, d_head: number) => number}
 */
export function componentVariance({ queries, keys }, d_head) {
  let [mean, square] = [0, 0];
  for (let c = 0; c < d_head; c += 1) {
    const [q, k] = [moments(queries, c), moments(keys, c)];
    mean += (q.mean * k.mean) / d_head;
    square += (q.square * k.square) / d_head;
  }
  return square - mean * mean;
}

/**
 * The average of component c over the rows, and of its square.
 * @type {(rows: Float64Array[], c: number) => { mean: number, square: number }}
 */
function moments(rows, c) {
  let [mean, square] = [0, 0];
  for (const row of rows) {
    mean += row[c] / rows.length;
    square += (row[c] * row[c]) / rows.length;
  }
  return { mean, square };
}

/**
 * One query's weights in numbers: bits, share of log2 n, largest weight, Σ |∂weight/∂score|.
 * @type {(weights: number[]) => Measured}
 */
export function measured(weights) {
  const bits = entropy(weights);
  const squares = weights.reduce((sum, weight) => sum + weight * weight, 0);
  const most = Math.log2(weights.length);
  return {
    bits,
    share: most ? bits / most : 0,
    largest: Math.max(...weights),
    gradient: 2 * (1 - squares),
  };
}

/** The same numbers, averaged over the queries. @type {(rows: number[][]) => Measured} */
export function average(rows) {
  const all = rows.map(measured);
  /** @type {(name: keyof Measured) => number} */
  const mean = (name) => all.reduce((sum, one) => sum + one[name], 0) / all.length;
  return {
    bits: mean("bits"),
    share: mean("share"),
    largest: mean("largest"),
    gradient: mean("gradient"),
  };
}

/**
 * Weights of every query: the dot products times the factor, through the softmax.
 * @type {(dots: ArrayLike<number>[], a: number) => number[][]}
 */
export const weighed = (dots, a) =>
  dots.map((row) => softmaxRow(Array.from(row, (dot) => dot * a)));

/**
 * How many scores fall into each of `bins` equal parts of [−bound, bound]; the rest is cut.
 * @type {(rows: Float64Array[], bound: number, bins: number) => number[]}
 */
export function histogram(rows, bound, bins) {
  const counts = new Array(bins).fill(0);
  for (const row of rows) {
    for (const score of row) {
      const bin = Math.floor(((score + bound) / (2 * bound)) * bins);
      if (bin >= 0 && bin < bins) counts[bin] += 1;
    }
  }
  return counts;
}

/**
 * Half the width of an axis on which this spread can be seen: 4, 16, 64 …
 * @type {(spread: number) => number}
 */
export function axisFor(spread) {
  return 4 ** Math.max(1, Math.ceil(Math.log(3.5 * spread) / Math.log(4) - 1e-9));
}
