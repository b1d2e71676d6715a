// @ts-check
// One forward pass with every number on record.

import { upTo } from "../shared/numbers.js";
import { beside, columns, matmul, softmaxRow, transpose } from "../shared/tensor.js";

/** @import { Matrix } from "../shared/tensor.js" */
/**
 * What a reader can change.
 * @typedef {{ x: Matrix, W_Q: Matrix, W_K: Matrix, W_V: Matrix, W_O: Matrix, mask: boolean[][],
 *   n_heads: number }} Given
 */
/** Every wire of the pass. @typedef {ReturnType<typeof forward>} Passed */

export const INPUTS = ["x", "W_Q", "W_K", "W_V", "W_O"];

/** Rows, columns and, before them, heads; in the order in which a pass needs them. */
/** @type {Record<string, string[]>} */
export const AXES = {
  x: ["query", "d_model"],
  W_Q: ["d_model", "d_heads"],
  W_K: ["d_model", "d_kv_heads"],
  W_V: ["d_model", "d_kv_heads"],
  q: ["query", "d_heads"],
  k: ["key", "d_kv_heads"],
  v: ["key", "d_kv_heads"],
  q_heads: ["head", "query", "d_head"],
  k_heads: ["kv_head", "key", "d_head"],
  v_heads: ["kv_head", "key", "d_head"],
  dots: ["head", "query", "key"],
  scores: ["head", "query", "key"],
  mask: ["query", "key"],
  masked: ["head", "query", "key"],
  weights: ["head", "query", "key"],
  z: ["head", "query", "d_head"],
  concat: ["query", "d_heads"],
  W_O: ["d_heads", "d_model"],
  y: ["query", "d_model"],
};

/**
 * The same for every score of every head.
 * @type {(heads: Matrix[], f: (s: number, i: number, j: number) => number) => Matrix[]}
 */
const everyScore = (heads, f) =>
  heads.map((rows) => rows.map((row, i) => row.map((s, j) => f(s, i, j))));

/** The inputs and every wire; `mask` is true where a query may look. @param {Given} given */
export function forward({ x, W_Q, W_K, W_V, W_O, mask, n_heads }) {
  const [q, k, v] = [W_Q, W_K, W_V].map((W) => matmul(x, W));
  const d_head = W_Q[0].length / n_heads;
  /** @type {(rows: Matrix) => Matrix[]} */
  const split = (rows) => upTo(n_heads).map((h) => columns(rows, h * d_head, (h + 1) * d_head));
  const [q_heads, k_heads, v_heads] = [q, k, v].map(split);
  const dots = q_heads.map((rows, h) => matmul(rows, transpose(k_heads[h])));
  const scores = everyScore(dots, (s) => s / Math.sqrt(d_head));
  const masked = everyScore(scores, (s, i, j) => (mask[i][j] ? s : -Infinity));
  const weights = masked.map((rows) => rows.map((row) => softmaxRow(row)));
  const z = weights.map((rows, h) => matmul(rows, v_heads[h]));
  const concat = beside(z);
  const y = matmul(concat, W_O);
  const inputs = { x, W_Q, W_K, W_V, W_O, mask };
  const heads = { q_heads, k_heads, v_heads, dots, scores, masked, weights, z };
  return { ...inputs, q, k, v, ...heads, concat, y };
}
