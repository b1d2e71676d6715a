// @ts-check
// A Llama on plain arrays: embeddings, and blocks of attention and feed-forward that each add to
// the residual stream. Keys and values of earlier tokens are kept, so that a further token costs
// one row of everything.
// Sources: Touvron et al., "LLaMA", arXiv 2302.13971; Su et al., "RoFormer" (rotary positions),
// arXiv 2104.09864; Ainslie et al., "GQA", arXiv 2305.13245.

import { opened } from "./gguf.js";
import { productsIn } from "./products.js";
import { gated, rmsNormed } from "./rows_of_llama.js";
import { add, softmaxAt } from "../../own_sentence/engine/rows.js";

/** @typedef {ReturnType<typeof decoderOf>} Decoder */
/**
 * What has been read so far: `n` tokens, keys and values of each layer (token, KV head,
 * dimension), and the weights of all heads, only those that the causal mask allows: query i has
 * i + 1 of them. Of the last token: what heads and feed-forward wrote, and its vector before and
 * after all layers.
 * @typedef {{ n: number, keys: Float32Array[], values: Float32Array[], weights: Float32Array[],
 *   z: Float32Array[], fed: Float32Array[], embedded: Float32Array, last: Float32Array }} Run
 */
/** Heads that are off, counted through all layers, and what each writes instead of its z.
 * @typedef {Map<number, Float32Array>} Off */

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

/**
 * Rotate each pair of dimensions by the angle of its token. In a GGUF file the two of a pair stand
 * next to each other; transformers has them half a head apart. Scores are the same.
 * @type {(x: Float32Array, decoder: Decoder, first: number, across: number) => void}
 */
function rotate(x, { angles, d_head }, first, across) {
  const pairs = d_head / 2;
  for (let at = 0; at < x.length; at += 2) {
    const position = first + Math.floor(at / across);
    const i = position * pairs + ((at / 2) % pairs);
    const [cos, sin, a, b] = [angles.cos[i], angles.sin[i], x[at], x[at + 1]];
    x[at] = a * cos - b * sin;
    x[at + 1] = b * cos + a * sin;
  }
}

/** A run that has read nothing. @type {(decoder: Decoder) => Run} */
export function started({ layers, heads, kvHeads, d_head, width, most }) {
  const each = (/** @type {number} */ n) =>
    Array.from({ length: layers }, () => new Float32Array(n));
  return {
    n: 0,
    keys: each(most * kvHeads * d_head),
    values: each(most * kvHeads * d_head),
    weights: Array.from({ length: layers * heads }, () => new Float32Array(rowAt(most))),
    z: each(width),
    fed: each(width),
    embedded: new Float32Array(width),
    last: new Float32Array(width),
  };
}

/**
 * Weights and z of all heads of a layer, for queries `q` after `run.n` tokens.
 * @type {(decoder: Decoder, run: Run, layer: number, q: Float32Array, z: Float32Array) => void}
 */
function attend({ heads, kvHeads, d_head, width }, run, layer, q, z) {
  const [across, group] = [kvHeads * d_head, heads / kvHeads];
  const [keys, values] = [run.keys[layer], run.values[layer]];
  for (let i = 0; i < q.length / width; i += 1) {
    const length = run.n + i + 1;
    for (let head = 0; head < heads; head += 1) {
      const [weights, own] = [run.weights[layer * heads + head], i * width + head * d_head];
      const [from, shared] = [rowAt(length - 1), Math.floor(head / group) * d_head];
      for (let j = 0; j < length; j += 1) {
        const other = j * across + shared;
        let score = 0;
        for (let c = 0; c < d_head; c += 1) score += q[own + c] * keys[other + c];
        weights[from + j] = score / Math.sqrt(d_head);
      }
      softmaxAt(weights, from, length);
      for (let j = 0; j < length; j += 1) {
        const [weight, other] = [weights[from + j], j * across + shared];
        for (let c = 0; c < d_head; c += 1) z[own + c] += weight * values[other + c];
      }
    }
  }
}

/** @type {(z: Float32Array, layer: number, decoder: Decoder, off: Off) => void} */
function switchOff(z, layer, { heads, d_head, width }, off) {
  for (let head = 0; head < heads; head += 1) {
    const instead = off.get(layer * heads + head);
    if (!instead) continue;
    for (let at = head * d_head; at < z.length; at += width) z.set(instead, at);
  }
}

/**
 * Read further tokens, all at once: what the run holds grows by them.
 * @type {(decoder: Decoder, run: Run, ids: number[], off?: Off) => void}
 */
export function extend(decoder, run, ids, off = new Map()) {
  const { products, width, hidden, kvHeads, d_head, eps } = decoder;
  const { times, floats } = products;
  const [n, across] = [ids.length, kvHeads * d_head];
  products.release();
  const [x, y, q, z] = [1, 2, 3, 4].map(() => floats(n * width));
  const [gate, wide] = [floats(n * hidden), floats(n * hidden)];
  const part = floats(n * width); // keys or values of the new tokens, or what is added to x
  const last = (n - 1) * width;
  ids.forEach((id, i) => {
    products.unpack(decoder.embedding, id, x.subarray(i * width, (i + 1) * width));
  });
  run.embedded.set(x.subarray(last));
  decoder.blocks.forEach((block, layer) => {
    rmsNormed(x, block.attentionNorm, eps, y);
    rotate(times(block.W_Q, y, q), decoder, run.n, width);
    const [k, from] = [times(block.W_K, y, part).subarray(0, n * across), run.n * across];
    rotate(k, decoder, run.n, across);
    run.keys[layer].set(k, from);
    run.values[layer].set(times(block.W_V, y, part).subarray(0, n * across), from);
    attend(decoder, run, layer, q, z.fill(0));
    switchOff(z, layer, decoder, off);
    run.z[layer].set(z.subarray(last));
    add(x, times(block.W_O, z, part));
    rmsNormed(x, block.norm, eps, y);
    gated(times(block.gate, y, gate), times(block.widen, y, wide));
    run.fed[layer].set(times(block.narrow, gate, part).subarray(last));
    add(x, part);
  });
  run.last.set(x.subarray(last));
  run.n += n;
}

/** The logit of every word after the last token. @type {(decoder: Decoder, run: Run) =>
 *   Float32Array} */
export function logitsOf({ products, embedding, norm, eps, width, words }, { last }) {
  products.release();
  const [x, y] = [products.floats(width), products.floats(width)];
  x.set(last);
  return products.times(embedding, rmsNormed(x, norm, eps, y), products.floats(words));
}

/**
 * What each head and each feed-forward adds to the logit of a word, and the embedding: with the
 * scale of the last norm as it was, their sum is the logit.
 * @type {(decoder: Decoder, run: Run, id: number) =>
 *   { heads: Float32Array, fed: Float32Array, embedded: number }}
 */
export function contributions(decoder, run, id) {
  const { products, width, heads, d_head, blocks } = decoder;
  products.release();
  const row = products.unpack(decoder.embedding, id, new Float32Array(width));
  const squares = run.last.reduce((sum, value) => sum + value * value, 0);
  const scale = 1 / Math.sqrt(squares / width + decoder.eps);
  const direction = row.map((value, i) => value * decoder.norm[i] * scale);
  /** @type {(from: Float32Array) => number} */
  const along = (from) => from.reduce((sum, value, i) => sum + value * direction[i], 0);
  const [apart, written] = [products.floats(heads * width), products.floats(heads * width)];
  const found = blocks.map((block, layer) => {
    apart.fill(0);
    for (let head = 0; head < heads; head += 1) {
      const own = run.z[layer].subarray(head * d_head, (head + 1) * d_head);
      apart.set(own, head * width + head * d_head);
    }
    products.times(block.W_O, apart, written);
    return Array.from({ length: heads }, (_, head) =>
      along(written.subarray(head * width, (head + 1) * width)),
    );
  });
  return {
    heads: Float32Array.from(found.flat()),
    fed: Float32Array.from(run.fed, along),
    embedded: along(run.embedded),
  };
}
