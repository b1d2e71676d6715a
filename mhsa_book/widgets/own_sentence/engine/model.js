// @ts-check
// MiniLM on plain arrays: embeddings, six blocks, the mean of the last vectors. A head that is
// off hands over 0 instead of its z; what stands before the first change is not computed again.

import { padded, times } from "./products.js";
import { add, attendRow, gelu, normed, pooled } from "./rows.js";
import { tensorsOf } from "./unpack.js";

/** @import { Linear } from "./products.js" */
/** @import { Norm } from "./rows.js" */
/**
 * @typedef {{ W_Q: Linear, W_K: Linear, W_V: Linear, W_O: Linear, attentionNorm: Norm,
 *   widen: Linear, narrow: Linear, norm: Norm }} Block
 */
/**
 * What a block reads, the weights of its heads (head, query, key) and their z, side by side.
 * @typedef {{ x: Float32Array, weights: Float32Array, z: Float32Array }} Seen
 */
/**
 * One pass: which heads were off, what each block saw, the vectors of the tokens (padded), and
 * the normalised vector of the sentence.
 * @typedef {{ ids: number[], off: Set<number>, seen: Seen[], last: Float32Array,
 *   vector: Float32Array }} Pass
 */
/** @typedef {ReturnType<typeof modelOf>} Model */

/** The model in the bytes of an asset. @param {Uint8Array} data */
export function modelOf(data) {
  const { head, matrices, tables } = tensorsOf(data, (name) => name.startsWith("embeddings."));
  /** @type {(path: string) => { weight: Float32Array, bias: Float32Array }} */
  const pair = (path) => ({ weight: matrices[`${path}.weight`], bias: matrices[`${path}.bias`] });
  /** @type {(_: unknown, i: number) => Block} */
  const block = (_, i) => {
    const path = `encoder.layer.${i}`;
    const [W_Q, W_K, W_V] = ["query", "key", "value"].map((name) =>
      pair(`${path}.attention.self.${name}`),
    );
    return {
      W_Q,
      W_K,
      W_V,
      W_O: pair(`${path}.attention.output.dense`),
      attentionNorm: pair(`${path}.attention.output.LayerNorm`),
      widen: pair(`${path}.intermediate.dense`),
      narrow: pair(`${path}.output.dense`),
      norm: pair(`${path}.output.LayerNorm`),
    };
  };
  return {
    ...head.sizes,
    vocabulary: new Map(head.words.map((word, id) => [word, id])),
    tables: ["word", "position", "token_type"].map(
      (kind) => tables[`embeddings.${kind}_embeddings.weight`],
    ),
    first: pair("embeddings.LayerNorm"),
    blocks: Array.from({ length: head.sizes.layers }, block),
  };
}

/** @type {(model: Model, ids: number[]) => Float32Array} */
function embedded({ tables: [words, positions, types], first, width, eps }, ids) {
  const x = new Float32Array(padded(ids.length) * width);
  ids.forEach((id, i) => {
    const row = x.subarray(i * width, (i + 1) * width);
    for (const part of [words(id), positions(i), types(0)]) add(row, part);
  });
  return normed(x, first, eps);
}

/** Weights and z of every head on `n` tokens.
 * @type {(block: Block, x: Float32Array, n: number, heads: number) => Seen}
 */
function attended({ W_Q, W_K, W_V }, x, n, heads) {
  const [q, k, v] = [W_Q, W_K, W_V].map((W) => times(x, W));
  const [width, weights, z] = [W_Q.bias.length, new Float32Array(heads * n * n), q.slice().fill(0)];
  const d_head = width / heads;
  for (let row = 0; row < heads * n; row += 1) {
    const [head, i] = [Math.floor(row / n) * d_head, row % n];
    const [own, at] = [i * width + head, row * n];
    attendRow(
      q.subarray(own, own + d_head),
      k.subarray(head),
      v.subarray(head),
      width,
      weights.subarray(at, at + n),
      z.subarray(own, own + d_head),
    );
  }
  return { x, weights, z };
}

/** z without the heads that are off. @type {(z: Float32Array, n: number, width: number,
 *   isOff: boolean[]) => Float32Array} */
function switched(z, n, width, isOff) {
  const [left, d_head] = [z.slice(), width / isOff.length];
  isOff.forEach((off, h) => {
    for (let i = 0; off && i < n; i += 1) {
      left.fill(0, i * width + h * d_head, i * width + (h + 1) * d_head);
    }
  });
  return left;
}

/** What only one of two sets holds. @type {(a: Set<number>, b: Set<number>) => number[]} */
const different = (a, b) => [
  ...[...a].filter((head) => !b.has(head)),
  ...[...b].filter((head) => !a.has(head)),
];

/**
 * A pass without the heads in `off`, counted through all layers. An `earlier` pass over the same
 * ids lends what it has seen up to the first layer in which another head is off.
 * @type {(model: Model, ids: number[], off?: Set<number>, earlier?: Pass) => Pass}
 */
export function passOf(model, ids, off = new Set(), earlier = undefined) {
  const { blocks, heads, width, eps } = model;
  const changed = earlier ? different(off, earlier.off) : [0];
  if (earlier && !changed.length) return earlier;
  const from = Math.floor(Math.min(...changed) / heads);
  const seen = earlier?.seen.slice(0, from + 1) ?? [];
  let x = seen.length ? new Float32Array() : embedded(model, ids);
  blocks.slice(from).forEach((block, i) => {
    const layer = from + i;
    const now = (seen[layer] ??= attended(block, x, ids.length, heads));
    const isOff = Array.from({ length: heads }, (_, h) => off.has(layer * heads + h));
    const z = isOff.includes(true) ? switched(now.z, ids.length, width, isOff) : now.z;
    x = normed(add(times(z, block.W_O), now.x), block.attentionNorm, eps);
    const fed = times(gelu(times(x, block.widen)), block.narrow);
    x = normed(add(fed, x), block.norm, eps);
  });
  return { ids, off, seen, last: x, vector: pooled(x, ids.length, width) };
}
