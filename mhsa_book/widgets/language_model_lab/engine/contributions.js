// @ts-check
// Which part of the model a logit comes from.

/** @import { Decoder, Run } from "./llama.js" */

/**
 * What each head and each feed-forward adds to the logits of some words, and the embedding: with
 * the scale of the last norm as it was, their sum is the logit.
 * @type {(decoder: Decoder, run: Run, ids: number[]) =>
 *   { heads: number[], fed: number[], embedded: number }[]}
 */
export function contributions(decoder, run, ids) {
  const { products, width, heads, d_head, blocks } = decoder;
  products.release();
  const squares = run.last.reduce((sum, value) => sum + value * value, 0);
  const scale = 1 / Math.sqrt(squares / width + decoder.eps);
  const directions = ids.map((id) => {
    const row = products.unpack(decoder.embedding, id, new Float32Array(width));
    return row.map((value, i) => value * decoder.norm[i] * scale);
  });
  /** @type {(from: Float32Array, direction: Float32Array) => number} */
  const along = (from, direction) => from.reduce((sum, value, i) => sum + value * direction[i], 0);
  const [apart, written] = [products.floats(heads * width), products.floats(heads * width)];
  /** What each head has written by itself: its own part of z, and zeros for the others. */
  const all = blocks.flatMap((block, layer) => {
    apart.fill(0);
    for (let head = 0; head < heads; head += 1) {
      const own = run.z[layer].subarray(head * d_head, (head + 1) * d_head);
      apart.set(own, head * width + head * d_head);
    }
    products.times(block.W_O, apart, written);
    return Array.from({ length: heads }, (_, head) =>
      written.slice(head * width, (head + 1) * width),
    );
  });
  return directions.map((direction) => ({
    heads: all.map((own) => along(own, direction)),
    fed: run.fed.map((own) => along(own, direction)),
    embedded: along(run.embedded, direction),
  }));
}
