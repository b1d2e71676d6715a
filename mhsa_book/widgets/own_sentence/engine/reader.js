// @ts-check
// Questions to the model: what it sees in a text, how alike two texts are, and both without heads.

import { in16Bits } from "../../shared/packing.js";
import { passOf } from "./model.js";
import { cosine } from "./rows.js";
import { tokenized } from "./tokenizer.js";

/** @import { Model, Pass } from "./model.js" */
/**
 * A text with some heads off: the weights of all heads in 16 bits, and the cosine between its
 * vector and the one with all heads on. `cut` counts tokens that were too many.
 * @typedef {{ tokens: string[], cut: number, weights: Uint8Array, cosine: number }} Read
 */
/**
 * Two texts: the cosine of their vectors, and of each token of the first with each of the second.
 * @typedef {{ tokens: string[][], cut: number[], cosine: number, pairs: Float32Array }} Pair
 */

const KEPT = 4;

/** Answers about texts, and keeps the last few passes with all heads on. @param {Model} model */
export function reader(model) {
  const known = /** @type {Map<string, { pass: Pass, tokens: string[], cut: number }>} */ (
    new Map()
  );
  const { width, tokens: most, vocabulary } = model;

  /** @type {(text: string) => { pass: Pass, tokens: string[], cut: number }} */
  function whole(text) {
    const { ids, tokens, cut } = tokenized(text, vocabulary, most);
    const made = known.get(text) ?? { pass: passOf(model, ids), tokens, cut };
    known.delete(text);
    known.set(text, made); // the newest stands last
    for (const old of [...known.keys()].slice(0, -KEPT)) known.delete(old);
    return made;
  }
  /** @type {(text: string, off: number[]) => Pass} */
  function without(text, off) {
    const { pass } = whole(text);
    return passOf(model, pass.ids, new Set(off), pass);
  }
  return {
    /** @type {(text: string, off: number[]) => Read} */
    read(text, off) {
      const { pass, tokens, cut } = whole(text);
      const now = without(text, off);
      const all = now.seen.map(({ weights }) => in16Bits(weights));
      const weights = new Uint8Array(all.length * all[0].length);
      all.forEach((part, layer) => weights.set(part, layer * part.length));
      return { tokens, cut, weights, cosine: cosine(now.vector, pass.vector) };
    },
    /** @type {(one: string, other: string, off: number[]) => Pair} */
    pair(one, other, off) {
      const texts = [one, other];
      const [a, b] = texts.map((text) => without(text, off));
      const pairs = new Float32Array(a.ids.length * b.ids.length);
      /** @type {(pass: Pass, i: number) => Float32Array} */
      const token = ({ last }, i) => last.subarray(i * width, (i + 1) * width);
      for (let i = 0; i < pairs.length; i += 1) {
        const n = b.ids.length;
        pairs[i] = cosine(token(a, Math.floor(i / n)), token(b, i % n));
      }
      const [tokens, cut] = [texts.map((t) => whole(t).tokens), texts.map((t) => whole(t).cut)];
      return { tokens, cut, cosine: cosine(a.vector, b.vector), pairs };
    },
    /**
     * Without one head: the cosine of a text's vector with its own, or of two texts.
     * @type {(texts: string[], head: number) => number}
     */
    effect(texts, head) {
      const [a, b] = texts.map((text) => without(text, [head]));
      return cosine(a.vector, (b ?? whole(texts[0]).pass).vector);
    },
  };
}
