// @ts-check
// Questions to the language model: what comes next after a text, with any heads off; one word
// more; where its heads look; and what each of its parts adds to a word.

import { softmax } from "../../own_sentence/engine/rows.js";
import { in16Bits } from "../../shared/packing.js";
import { bpeOf, idsIn, spelling, textOf } from "./bpe.js";
import { contributions } from "./contributions.js";
import { decoderOf, squares, started } from "./llama.js";
import { extend, logitsOf } from "./pass.js";
import { likeliest } from "./rows_of_llama.js";

/** @import { Attention } from "../../head_explorer/shown_weights.js" */
/** @import { Off } from "./pass.js" */
/**
 * A word that may come next, its probability, and where heads are off the one with all heads on.
 * @typedef {{ id: number, text: string, p: number, whole: number | null }} Next
 */
/**
 * What the model has read: its tokens, how many of a text that was too long are left out, the
 * likeliest next words, what has been written, and the bytes of the cache.
 * @typedef {{ tokens: string[], cut: number, next: Next[], written: string, cache: number }} Found
 */
/**
 * What each head, each feed-forward and the embedding add to the logit of a word.
 * @typedef {{ text: string, heads: number[], fed: number[], embedded: number, logit: number }}
 *   Added
 */
/** @typedef {"zero" | "mean"} Instead */

const [PROMPT, MOST] = [64, 128]; // tokens of a text, and with what is written
const SHOWN = 10; // words

/**
 * What each head that is off writes instead.
 * @type {(off: number[], of: (head: number) => Float32Array) => Off}
 */
const offOf = (off, of) => new Map(off.map((head) => [head, of(head)]));

/** The first layer in which two passes differ. @type {(a: Off, b: Off, heads: number) => number} */
function firstChange(a, b, heads) {
  const all = [...a.keys(), ...b.keys()];
  const changed = all.filter((head) => a.get(head)?.[0] !== b.get(head)?.[0]);
  return Math.floor(Math.min(...changed) / heads);
}

/**
 * A model in a GGUF file, and the mean z of each of its heads, one after the other.
 * @param {Uint8Array} file @param {Float32Array} means
 */
export function answersOf(file, means) {
  const decoder = decoderOf(file, MOST);
  const { d_head, heads, layers, kvHeads, values } = decoder;
  const about = (/** @type {string} */ name) => values[`tokenizer.ggml.${name}`];
  const bpe = bpeOf({
    tokens: about("tokens"),
    types: about("token_type"),
    merges: about("merges"),
  });
  const [end, zeros, run] = [about("eos_token_id"), new Float32Array(d_head), started(decoder)];
  /** The last text with all heads on, to compare with. */
  let whole = { text: "", p: new Float32Array() };
  let now = { text: "", ids: /** @type {number[]} */ ([]), prompt: 0, cut: 0 };
  let [off, logits] = [/** @type {Off} */ (new Map()), new Float32Array()];

  function probabilities() {
    const p = logits.slice();
    softmax(p);
    return p;
  }
  /** @type {() => Found} */
  function found() {
    const p = probabilities();
    const isRead = now.ids.length === now.prompt && now.text === whole.text;
    const beside = isRead && off.size ? whole.p : null;
    return {
      tokens: now.ids.map((id) => spelling(id, bpe)),
      cut: now.cut,
      next: likeliest(logits, SHOWN).map((id) => {
        return { id, text: spelling(id, bpe), p: p[id], whole: beside && beside[id] };
      }),
      written: textOf(now.ids.slice(now.prompt), bpe),
      cache: 4 * 2 * layers * kvHeads * d_head * run.n,
    };
  }
  /**
   * Read tokens without some heads; layers before the first change are not computed again.
   * @type {(text: string, all: number[], next: Off) => void}
   */
  function take(text, all, next) {
    const again = text === now.text && now.ids.length === now.prompt;
    const from = again ? firstChange(off, next, heads) : 0;
    if (from === Infinity) return;
    const ids = all.slice(0, PROMPT);
    now = { text, ids, prompt: ids.length, cut: all.length - ids.length };
    [off, run.n] = [next, 0];
    extend(decoder, run, ids, off, from);
    logits = logitsOf(decoder, run).slice();
  }
  return {
    /**
     * A text from its beginning; null where it has no token.
     * @type {(text: string, without: number[], instead: Instead) => Found | null}
     */
    read(text, without, instead) {
      const ids = idsIn(text, bpe);
      if (ids.length === 0) return null;
      if (without.length === 0 || text !== whole.text) {
        take(text, ids, new Map());
        whole = { text, p: probabilities() };
      }
      /** @type {(head: number) => Float32Array} */
      const mean = (head) => means.subarray(head * d_head, (head + 1) * d_head);
      if (without.length) take(text, ids, offOf(without, instead === "mean" ? mean : () => zeros));
      return found();
    },
    /** One more word, the likeliest; null where the text ends or there is no room. */
    more() {
      const [id] = likeliest(logits, 1);
      if (id === end || now.ids.length === MOST) return null;
      now.ids.push(id);
      extend(decoder, run, [id], off);
      logits = logitsOf(decoder, run).slice();
      return found();
    },
    /** Where all heads look, as Python packs it. @type {() => Attention} */
    look() {
      const tokens = now.ids.map((id) => spelling(id, bpe));
      const { buffer } = in16Bits(squares(run));
      const shape = [layers, heads, run.n, run.n];
      return { shape, tokens, keys: tokens, weights: new DataView(buffer) };
    },
    /** What each part of the model adds to each of the words shown. @type {() => Added[]} */
    adds() {
      const ids = likeliest(logits, SHOWN);
      return contributions(decoder, run, ids).map((parts, i) => {
        return { ...parts, text: spelling(ids[i], bpe), logit: logits[ids[i]] };
      });
    },
  };
}
