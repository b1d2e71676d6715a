// @ts-check
// The rules among sizes in words, with the numbers in them.

/** @import { Sizes } from "./size_rules.js" */

/** The rules that hold. @type {(sizes: Sizes) => string} */
export function lawInWords({ d_model, n_heads, n_kv_heads, d_head }) {
  const shared =
    n_kv_heads === undefined
      ? ""
      : `n_kv_heads divides n_heads: ${n_heads} / ${n_kv_heads} = ${n_heads / n_kv_heads}.`;
  if (d_model === undefined) return shared;
  if (d_head !== null)
    return `d_head has its own size, so n_heads need not divide d_model. ${shared}`;
  const width = `${d_model} / ${n_heads} = ${d_model / n_heads} = d_head`;
  return `n_heads divides d_model: ${width}. ${shared}`;
}

/** What moved along, and why. @type {(before: Sizes, after: Sizes, name: string) => string} */
export function movedInWords(before, after, name) {
  const { d_model, n_heads, n_kv_heads } = after;
  const why = {
    n_heads: `the nearest that divides d_model ${d_model}`,
    n_kv_heads:
      n_kv_heads === n_heads ? "as many as n_heads" : `the nearest that divides n_heads ${n_heads}`,
  };
  return Object.entries(why)
    .filter(([part]) => part !== name && before[part] !== after[part])
    .map(([part, reason]) => `${part} ${before[part]} → ${after[part]}, ${reason}.`)
    .join(" ");
}
