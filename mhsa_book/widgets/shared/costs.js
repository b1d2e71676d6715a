// @ts-check
// What attention costs, by formula: the numbers of mhsa_book.costs, .configurations and .roofline.

/** @typedef {{ n_heads: number, n_kv_heads: number, d_head: number }} Heads */
/**
 * A model as Python describes it.
 * @typedef {Heads & { name: string, layers: number, d_model: number, biases: string,
 *   source: string, note: string }} Configuration
 */
/**
 * @typedef {{ name: string, memory: number, bandwidth: number, peak: Record<string, number>,
 *   source: string }} Accelerator
 */
/**
 * New tokens, all tokens they look at, and how numbers are kept.
 * @typedef {{ n_query: number, n_key: number, batch: number, itemsize: number,
 *   cache_itemsize: number, fused: boolean }} Load
 */
/** @typedef {{ flops: number, bytes: number, intensity: number }} Work */
/** @typedef {Work & ReturnType<typeof underRoof> & { phase: string, stage: string }} StageWork */

/** Widths of all heads side by side, of the queries and of the keys. @param {Heads} heads */
export const headWidths = ({ n_heads, n_kv_heads, d_head }) => ({
  d_heads: n_heads * d_head,
  d_kv_heads: n_kv_heads * d_head,
});

/**
 * Learned numbers of the four projections of one layer; `biases` names those that have one.
 * @param {Heads & { d_model: number, biases: string }} sizes
 */
export function layerParameters({ d_model, biases, ...heads }) {
  const { d_heads, d_kv_heads } = headWidths(heads);
  /** @type {(letter: string, rows: number, columns: number) => number} */
  const map = (letter, rows, columns) => rows * columns + (biases.includes(letter) ? columns : 0);
  return {
    W_Q: map("Q", d_model, d_heads),
    W_K: map("K", d_model, d_kv_heads),
    W_V: map("V", d_model, d_kv_heads),
    W_O: map("O", d_heads, d_model),
  };
}

/**
 * Bytes of the keys and values of all layers.
 * @type {(model: { layers: number, n_kv_heads: number, d_head: number },
 *   n_key: number, batch: number, itemsize: number) => number}
 */
export const cacheBytes = ({ layers, n_kv_heads, d_head }, n_key, batch, itemsize) =>
  2 * layers * batch * n_key * n_kv_heads * d_head * itemsize;

/**
 * FLOPs and bytes of each stage of one layer: `n_query` new tokens look at `n_key`.
 * @type {(model: Heads & { d_model: number }, load: Load) => Record<string, Work>}
 */
export function stageWork({ d_model, ...heads }, load) {
  const { n_query, n_key, batch, itemsize, cache_itemsize, fused } = load;
  const { d_heads, d_kv_heads } = headWidths(heads);
  const tokens = batch * n_query;
  const [q, x] = [tokens * d_heads * itemsize, tokens * d_model * itemsize];
  const new_kv = 2 * tokens * d_kv_heads * cache_itemsize;
  const all_kv = 2 * batch * n_key * d_kv_heads * cache_itemsize;
  const table = fused ? 0 : batch * heads.n_heads * n_query * n_key * itemsize;
  const W_QKV = d_model * (d_heads + 2 * d_kv_heads);
  const W_O = d_heads * d_model;
  /** @type {(flops: number, moved: number) => Work} */
  const stage = (flops, moved) => ({ flops, bytes: moved, intensity: flops / moved });
  return {
    project: stage(2 * tokens * W_QKV, W_QKV * itemsize + x + q + new_kv),
    "scores + mix": stage(4 * tokens * n_key * d_heads, 2 * q + all_kv + 4 * table),
    W_O: stage(2 * tokens * W_O, W_O * itemsize + q + x),
  };
}

/**
 * Bytes of the wires of one layer that are not cached: q, z, concat, y, and unfused the table.
 * @type {(model: Heads & { d_model: number }, load: Load) => number}
 */
export function activationBytes({ d_model, n_heads, d_head }, load) {
  const { n_query, n_key, batch, itemsize, fused } = load;
  const rows = batch * n_query * itemsize;
  return rows * (3 * n_heads * d_head + d_model) + (fused ? 0 : 2 * rows * n_key * n_heads);
}

/**
 * Where a stage meets the roof of an accelerator, and the least time it takes.
 * @param {Work} work @param {number} peak @param {number} bandwidth
 */
export function underRoof({ flops, bytes: moved, intensity }, peak, bandwidth) {
  const ridge = peak / bandwidth;
  return {
    ridge,
    attainable: Math.min(peak, intensity * bandwidth),
    seconds: Math.max(flops / peak, moved / bandwidth),
    limit: intensity < ridge ? "memory" : "arithmetic",
  };
}

/** @type {Record<string, number>} */
export const NUMBER_BYTES = { float32: 4, bfloat16: 2, float16: 2, int8: 1 };
/**
 * What sharing keys among so many heads is called.
 * @type {(n_heads: number, n_kv_heads: number) => string}
 */
export function kindOf(n_heads, n_kv_heads) {
  if (n_kv_heads === n_heads) return "MHA";
  return n_kv_heads === 1 ? "MQA" : "GQA";
}
