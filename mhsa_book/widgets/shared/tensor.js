// @ts-check
// The mathematics of attention on plain arrays of rows, as mhsa_lib.functional has it.

/** @typedef {number[][]} Matrix */

/** @type {(m: Matrix) => Matrix} */
export const transpose = (m) => m[0].map((_, j) => m.map((row) => row[j]));

/** @type {(a: Matrix, b: Matrix) => Matrix} */
export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};

/** @type {(a: ArrayLike<number>, b: ArrayLike<number>) => number} */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/**
 * Every row's largest score taken off first; a forbidden key weighs 0, an empty row is zeros.
 * @type {(scores: number[], allowed?: boolean[] | null) => number[]}
 */
export function softmaxRow(scores, allowed = null) {
  /** @type {(k: number) => boolean} */
  const may = (k) => allowed === null || allowed[k];
  let top = -Infinity;
  scores.forEach((s, k) => {
    if (may(k) && (s > top || Number.isNaN(s))) top = s;
  });
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((s, k) => (may(k) ? Math.exp(s - top) : 0));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / total);
}

/** @type {(scores: Matrix, mask?: boolean[][] | null) => Matrix} */
export const softmax = (scores, mask = null) =>
  scores.map((row, q) => softmaxRow(row, mask && mask[q]));

/** Entropy in bits; 0 · log 0 counts as 0. @type {(weights: number[]) => number} */
export const entropy = (weights) =>
  weights.reduce((sum, w) => (w > 0 ? sum - w * Math.log2(w) : sum), 0);

/** Columns `from` to `to` of a matrix. @type {(m: Matrix, from: number, to: number) => Matrix} */
export const columns = (m, from, to) => m.map((row) => row.slice(from, to));

/** Matrices side by side. @type {(parts: Matrix[]) => Matrix} */
export const beside = (parts) => parts[0].map((_, i) => parts.flatMap((part) => part[i]));
