// @ts-check
// Which part of the model a logit comes from.

/** @import { Decoder, Run } from "./llama.js" */

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
