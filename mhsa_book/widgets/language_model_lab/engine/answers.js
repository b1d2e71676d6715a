// @ts-check
// Questions to the language model: what comes next after a text, with any heads off; one word
// more; and what each head adds to a word.

import { bpeOf, idsIn, spelling, textOf } from "./bpe.js";
import { contributions, decoderOf, extend, logitsOf, rowAt, started } from "./decoder.js";
import { softmaxAt } from "../../own_sentence/engine/rows.js";

/** @import { Off, Run } from "./decoder.js" */
/**
 * A word that may come next, its probability, and the one with all heads on where it is known.
 * @typedef {{ id: number, text: string, p: number, whole: number | null }} Next
 */
/**
 * What the model sees: tokens, how many of a text that was too long are left out, the weights of
 * all heads in 16 bits (layer, head, query, key; only keys up to the query), the likeliest next
 * words, what has been written, and the bytes of the cache.
 * @typedef {{ tokens: string[], cut: number, weights: Uint16Array, next: Next[], written: string,
 *   cache: number }} Found
 */
/** What each part adds to a logit. @typedef {{ heads: number[], fed: number[], embedded: number,
 *   logit: number }} Added */

export const [PROMPT, MOST] = [128, 192]; // tokens of a text, and with what is written
const SHOWN = 10; // words

/** The likeliest ids, the first of equals first. @type {(logits: Float32Array, n: number) => number[]} */
function likeliest(logits, n) {
  /** @type {number[]} */
  const best = [];
  logits.forEach((logit, id) => {
    if (best.length === n && logit <= logits[best[n - 1]]) return;
    let at = best.length;
    while (at > 0 && logits[best[at - 1]] < logit) at -= 1;
    best.splice(at, 0, id);
    best.length = Math.min(best.length, n);
  });
  return best;
}

/** Its weights in 16 bits: 0 only for an exact 0, 65535 for 1. @param {Run} run */
function in16Bits(run) {
  const size = rowAt(run.n);
  const all = new Uint16Array(run.weights.length * size);
  run.weights.forEach((weights, head) => {
    for (let i = 0; i < size; i += 1) {
      const step = Math.round(weights[i] * 65535);
      all[head * size + i] = weights[i] > 0 ? Math.max(1, Math.min(step, 65535)) : 0;
    }
  });
  return all;
}

/**
 * A model in a GGUF file, and the mean z of each of its heads, one after the other.
 * @param {Uint8Array} file @param {Float32Array} means @param {boolean} simd
 */
export function answersOf(file, means, simd = true) {
  const decoder = decoderOf(file, MOST, simd);
  const { d_head, layers, kvHeads } = decoder;
  const about = (/** @type {string} */ name) => decoder.values[`tokenizer.ggml.${name}`];
  const bpe = bpeOf({
    tokens: about("tokens"),
    types: about("token_type"),
    merges: about("merges"),
  });
  const end = about("eos_token_id");
  /** The text with all heads on, to compare with. */
  let whole = { text: "", p: new Float32Array() };
  /** @type {{ run: Run, ids: number[], prompt: number, cut: number, off: Off, text: string }} */
  let now = { run: started(decoder), ids: [], prompt: 0, cut: 0, off: new Map(), text: "" };
  let logits = new Float32Array();

  /** @type {(off: number[], how: "zero" | "mean") => Off} */
  const instead = (off, how) =>
    new Map(
      off.map((head) => [
        head,
        how === "mean"
          ? means.subarray(head * d_head, (head + 1) * d_head)
          : new Float32Array(d_head),
      ]),
    );
  function probabilities() {
    const p = logits.slice();
    softmaxAt(p, 0, p.length);
    return p;
  }
  /** @type {() => Found} */
  function found() {
    const p = probabilities();
    const beside = now.ids.length === now.prompt && now.text === whole.text ? whole.p : null;
    return {
      tokens: now.ids.map((id) => spelling(id, bpe)),
      cut: now.cut,
      weights: in16Bits(now.run),
      next: likeliest(logits, SHOWN).map((id) => ({
        id,
        text: spelling(id, bpe),
        p: p[id],
        whole: beside && beside[id],
      })),
      written: textOf(now.ids.slice(now.prompt), bpe),
      cache: 4 * 2 * layers * kvHeads * d_head * now.run.n,
    };
  }
  /** @type {(text: string, off: Off) => void} */
  function take(text, off) {
    const all = idsIn(text, bpe);
    if (!all.length) throw new Error("there is no word to read; type at least one");
    const ids = all.slice(0, PROMPT);
    now = {
      run: started(decoder),
      ids,
      prompt: ids.length,
      cut: all.length - ids.length,
      off,
      text,
    };
    extend(decoder, now.run, ids, off);
    logits = logitsOf(decoder, now.run).slice();
  }
  return {
    /** @type {(text: string, off: number[], how: "zero" | "mean") => Found} */
    read(text, off, how) {
      if (off.length === 0 || text !== whole.text) {
        take(text, new Map());
        whole = { text, p: probabilities() };
      }
      if (off.length) take(text, instead(off, how));
      return found();
    },
    /** One more word, the likeliest; null where the text ends or there is no room. */
    more() {
      const [id] = likeliest(logits, 1);
      if (id === end || now.ids.length === MOST) return null;
      now.ids.push(id);
      extend(decoder, now.run, [id], now.off);
      logits = logitsOf(decoder, now.run).slice();
      return found();
    },
    /** What each part of the model adds to the logit of a word. @type {(id: number) => Added} */
    adds(id) {
      const { heads, fed, embedded } = contributions(decoder, now.run, id);
      return { heads: [...heads], fed: [...fed], embedded, logit: logits[id] };
    },
  };
}
