// @ts-check
// What each kind of attention keeps of a token, and what that means for an accelerator; in numbers
// and in words.

import { kindOf } from "../shared/costs.js";
import { fits } from "../shared/memory.js";
import { counted, duration, grouped } from "../shared/numbers.js";

/**
 * Sizes of a model, or the reader's own.
 * @typedef {{ layers: number, n_heads: number, n_kv_heads: number, d_head: number,
 *   d_latent: number, d_rope: number }} CacheSizes
 */
/** @typedef {{ tokens: number, sequences: number, itemsize: number }} CacheLoad */
/** @typedef {{ name: string, memory: number, bandwidth: number }} Device */
/** @typedef {ReturnType<typeof cacheOf>[number]} Kept */

export const KINDS = ["MHA", "GQA", "MQA", "MLA"];

/**
 * Which of the four a layer is: the kind asked for, and by its heads if that is GQA.
 * @type {(kind: string, sizes: { n_heads: number, n_kv_heads: number }) => string}
 */
export function resolved(kind, { n_heads, n_kv_heads }) {
  if (kind === "GQA") return kindOf(n_heads, n_kv_heads);
  return kind === "MQA" && n_heads === 1 ? "MHA" : kind;
}

/**
 * Numbers that each kind keeps of a token in one layer, kinds that are another's twin left out.
 * @type {(sizes: Omit<CacheSizes, "layers">) => Record<string, number>}
 */
export function numbersKept({ n_heads, n_kv_heads, d_head, d_latent, d_rope }) {
  const shared = { MHA: n_heads, [kindOf(n_heads, n_kv_heads)]: n_kv_heads, MQA: 1 };
  const pairs = Object.entries(shared).map(([kind, heads]) => [kind, 2 * heads * d_head]);
  const all = { ...Object.fromEntries(pairs), MLA: d_latent + d_rope };
  const own = KINDS.filter((kind) => all[kind] && (kind !== "MQA" || n_heads > 1));
  return Object.fromEntries(own.map((kind) => [kind, all[kind]]));
}

/**
 * Everything the figure says about each kind: of a token, of all tokens, and on an accelerator.
 * @param {CacheSizes} sizes @param {CacheLoad} load
 * @param {{ memory: number, bandwidth: number }} accelerator
 */
export function cacheOf(sizes, { tokens, sequences, itemsize }, { memory, bandwidth }) {
  return Object.entries(numbersKept(sizes)).map(([kind, numbers]) => {
    const token = sizes.layers * numbers * itemsize;
    const one = token * tokens;
    const total = one * sequences;
    const fit = Math.floor(memory / one);
    return { kind, numbers, token, total, fit, seconds: total / bandwidth };
  });
}

/** "GQA: 8 of 32 heads" @type {(kind: string, sizes: Partial<CacheSizes>) => string} */
export function kindInWords(kind, { n_heads = 0, n_kv_heads = 0, d_latent = 0, d_rope = 0 }) {
  if (kind === "MLA") return `MLA: latent ${grouped(d_latent)} + ${grouped(d_rope)}`;
  const heads = kind === "GQA" ? n_kv_heads : kind === "MHA" ? n_heads : 1;
  return `${kind}: ${grouped(heads)} of ${grouped(n_heads)} heads`;
}

/**
 * The chosen kind in a few sentences.
 * @type {(cache: Kept, sizes: CacheSizes, load: { tokens: number, sequences: number },
 *   accelerator: Device) => string}
 */
export function inWords(cache, sizes, { tokens, sequences }, accelerator) {
  const { kind, numbers, token, total, fit, seconds } = cache;
  return (
    `${kindInWords(kind, sizes)} keeps ${grouped(numbers)} numbers of a token `
    + `in each of ${counted(sizes.layers, "layer")}, `
    + `${counted(token, "byte")} in all. ${fits(total, accelerator)} `
    + `That is for ${counted(sequences, "sequence")} of ${counted(tokens, "token")}; `
    + `without weights and anything else there is room for ${grouped(fit)}. `
    + `Every step of decoding reads the cache, which takes ${duration(seconds)} or more.`
  );
}

/**
 * Where the sizes come from, and what the other kinds are.
 * @type {(model?: { kind: string, source: string, note?: string }) => string}
 */
export function noted(model) {
  const compared = "The other kinds are what the same heads would keep";
  if (!model) return `MLA keeps d_latent + d_rope. ${compared}.`;
  const latent =
    model.kind === "MLA"
      ? "8 heads stand for GQA."
      : "the latent is 4 d_head wide and the rotated key d_head / 2, the widths that "
        + "DeepSeek-V2 chose.";
  const own = model.note ? ` In this model ${model.note}.` : "";
  return `Sizes: ${model.source}. ${compared}; ${latent}${own}`;
}
