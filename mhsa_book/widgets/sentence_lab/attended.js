// @ts-check
// The attention of a sentence, head by head: where each word looks, and what that writes into it.

import { upTo } from "../shared/numbers.js";
import { columns, matmul, softmax, transpose } from "../shared/tensor.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @typedef {{ W_Q: Matrix, W_K: Matrix, W_V: Matrix, W_O: Matrix }} Maps */
/**
 * One head: q, k, v and z (word, d_head), scores and weights (query, key), and what it adds to y
 * (query, d_model).
 * @typedef {{ q: Matrix, k: Matrix, v: Matrix, scores: Matrix, weights: Matrix, z: Matrix,
 *   part: Matrix }} Head
 */

/** Every head of the attention of x. @type {(x: Matrix, maps: Maps, n_heads: number) => Head[]} */
export function attended(x, { W_Q, W_K, W_V, W_O }, n_heads) {
  const projected = [W_Q, W_K, W_V].map((W) => matmul(x, W));
  const d_head = W_O.length / n_heads;
  return upTo(n_heads).map((h) => {
    const [from, to] = [h * d_head, (h + 1) * d_head];
    const [q, k, v] = projected.map((wide) => columns(wide, from, to));
    const products = matmul(q, transpose(k));
    const scores = products.map((row) => row.map((s) => s / Math.sqrt(d_head)));
    const weights = softmax(scores);
    const z = matmul(weights, v);
    return { q, k, v, scores, weights, z, part: matmul(z, W_O.slice(from, to)) };
  });
}

/**
 * y, (query, d_model), without the heads in `off`.
 * @type {(heads: Head[], off: number[]) => Matrix}
 */
export const summed = (heads, off) =>
  heads[0].part.map((row, w) =>
    row.map((_, c) =>
      heads.reduce((sum, { part }, h) => sum + (off.includes(h) ? 0 : part[w][c]), 0),
    ),
  );

/** The word that a row of weights looks at most. @type {(row: number[]) => number} */
export const most = (row) => row.indexOf(Math.max(...row));
