// @ts-check
// A pass through a Llama on plain arrays: blocks of attention and feed-forward that each add to the
// residual stream. Keys and values of earlier tokens are kept, so that a further token costs one
// row of everything.
// Sources: Su et al., "RoFormer" (rotary positions), arXiv 2104.09864; Ainslie et al., "GQA",
// arXiv 2305.13245.

import { add, attendRow } from "../../own_sentence/engine/rows.js";
import { rowAt } from "./llama.js";
import { gated, rmsNormed } from "./rows_of_llama.js";

/** @import { Decoder, Run } from "./llama.js" */
/** Heads that are off, counted through all layers, and what each writes instead of its z.
 * @typedef {Map<number, Float32Array>} Off */

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
      const [own, from] = [i * width + head * d_head, rowAt(length - 1)];
      const shared = Math.floor(head / group) * d_head;
      attendRow(
        q.subarray(own, own + d_head),
        keys.subarray(shared),
        values.subarray(shared),
        across,
        run.weights[layer * heads + head].subarray(from, from + length),
        z.subarray(own, own + d_head),
      );
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

/** The embeddings of tokens, in `x`. @type {(decoder: Decoder, ids: number[], x: Float32Array) =>
 *   void} */
function embed({ products, embedding, width }, ids, x) {
  ids.forEach((id, i) => products.unpack(embedding, id, x.subarray(i * width, (i + 1) * width)));
}

/**
 * Read further tokens, all at once: what the run holds grows by them. The same tokens once more,
 * from the beginning of a text, may start at layer `from`: what stands before it is as it was.
 * @type {(decoder: Decoder, run: Run, ids: number[], off?: Off, from?: number) => void}
 */
export function extend(decoder, run, ids, off = new Map(), from = 0) {
  const { products, width, hidden, kvHeads, d_head, eps } = decoder;
  const { times, floats } = products;
  const [n, across] = [ids.length, kvHeads * d_head];
  products.release();
  const [x, y, q, z] = [1, 2, 3, 4].map(() => floats(n * width));
  const [gate, wide] = [floats(n * hidden), floats(n * hidden)];
  const part = floats(n * width); // keys or values of the new tokens, or what is added to x
  const last = (n - 1) * width;
  if (from === 0) {
    embed(decoder, ids, x);
    run.embedded.set(x.subarray(last));
  } else x.set(run.inputs[from].subarray(0, x.length));
  decoder.blocks.forEach((block, layer) => {
    if (layer < from) return;
    if (run.n === 0) run.inputs[layer].set(x);
    rmsNormed(x, block.attentionNorm, eps, y);
    rotate(times(block.W_Q, y, q), decoder, run.n, width);
    const [k, at] = [times(block.W_K, y, part).subarray(0, n * across), run.n * across];
    rotate(k, decoder, run.n, across);
    run.keys[layer].set(k, at);
    run.values[layer].set(times(block.W_V, y, part).subarray(0, n * across), at);
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
