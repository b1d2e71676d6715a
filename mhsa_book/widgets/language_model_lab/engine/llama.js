// @ts-check
// A Llama in a GGUF file: its sizes, its matrices, and what a pass through it leaves behind.
// Source: Touvron et al., "LLaMA", arXiv 2302.13971.

import { opened } from "./gguf.js";
import { productsIn } from "./products.js";

/** @typedef {ReturnType<typeof decoderOf>} Decoder */
/**
 * What has been read so far: `n` tokens, keys and values of each layer (token, KV head,
 * dimension), and the weights of all heads, only those that the causal mask allows: query i has
 * i + 1 of them. What each layer has read at first. Of the last token: what heads and feed-forward
 * wrote, and its vector before and after all layers.
 * @typedef {{ n: number, inputs: Float32Array[], keys: Float32Array[], values: Float32Array[],
 *   weights: Float32Array[], z: Float32Array[], fed: Float32Array[], embedded: Float32Array,
 *   last: Float32Array }} Run
 */
/** Where the weights of a query begin. @type {(query: number) => number} */
export const rowAt = (query) => (query * (query + 1)) / 2;

/**
 * @param {Uint8Array} data a GGUF file @param {number} most tokens @param {boolean} simd
 */
export function decoderOf(data, most, simd = true) {
  const { values, places } = opened(data);
  const about = (/** @type {string} */ name) => values[`llama.${name}`];
  const sizes = {
    layers: about("block_count"),
    heads: about("attention.head_count"),
    kvHeads: about("attention.head_count_kv"),
    width: about("embedding_length"),
    hidden: about("feed_forward_length"),
    words: places["token_embd.weight"].rows,
    most,
  };
  const { width, hidden, heads, words } = sizes;
  const products = productsIn(data, most * (5 * width + 2 * hidden) + words + width, simd);
  /** @type {(name: string) => Float32Array} */
  const norm = (name) => new Float32Array(products.memory, places[name].at, places[name].width);
  const d_head = width / heads;
  return {
    ...sizes,
    d_head,
    values,
    products,
    eps: about("attention.layer_norm_rms_epsilon"),
    angles: anglesOf(most, d_head, about("rope.freq_base")),
    embedding: places["token_embd.weight"],
    norm: norm("output_norm.weight"),
    blocks: Array.from({ length: sizes.layers }, (_, i) => {
      const path = (/** @type {string} */ name) => `blk.${i}.${name}.weight`;
      return {
        attentionNorm: norm(path("attn_norm")),
        W_Q: places[path("attn_q")],
        W_K: places[path("attn_k")],
        W_V: places[path("attn_v")],
        W_O: places[path("attn_output")],
        norm: norm(path("ffn_norm")),
        gate: places[path("ffn_gate")],
        widen: places[path("ffn_up")],
        narrow: places[path("ffn_down")],
      };
    }),
  };
}

/**
 * Cosine and sine of every position and pair of dimensions, rounded as float32 rounds them.
 * @type {(n: number, d_head: number, base: number) => { cos: Float32Array, sin: Float32Array }}
 */
function anglesOf(n, d_head, base) {
  const pairs = d_head / 2;
  const angles = Float32Array.from({ length: n * pairs }, (_, i) => {
    const speed = Math.fround(1 / base ** ((i % pairs) / pairs));
    return Math.floor(i / pairs) * speed;
  });
  return { cos: angles.map(Math.cos), sin: angles.map(Math.sin) };
}

/** A run that has read nothing. @type {(decoder: Decoder) => Run} */
export function started({ layers, heads, kvHeads, d_head, width, most }) {
  const each = (/** @type {number} */ n) =>
    Array.from({ length: layers }, () => new Float32Array(n));
  return {
    n: 0,
    inputs: each(most * width),
    keys: each(most * kvHeads * d_head),
    values: each(most * kvHeads * d_head),
    weights: Array.from({ length: layers * heads }, () => new Float32Array(rowAt(most))),
    z: each(width),
    fed: each(width),
    embedded: new Float32Array(width),
    last: new Float32Array(width),
  };
}

/** Weights with a zero for every key that the mask hides (head, query, key). @param {Run} run */
export function squares({ n, weights }) {
  const all = new Float32Array(weights.length * n * n);
  weights.forEach((own, head) => {
    for (let query = 0; query < n; query += 1) {
      all.set(own.subarray(rowAt(query), rowAt(query + 1)), (head * n + query) * n);
    }
  });
  return all;
}
