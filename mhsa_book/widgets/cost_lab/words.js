// @ts-check
// What the cost lab says: about a variant, about the sizes chosen, and what it leaves out.

import { kindOf } from "../shared/costs.js";
import { grouped } from "../shared/numbers.js";
import { VARIANTS, kvHeads } from "./variants.js";

/** @import { Accelerator, Configuration, Heads } from "../shared/costs.js" */
/** @import { Need } from "../shared/memory.js" */
/** @import { Cost } from "./variants.js" */

/**
 * The choices of the reader, by trait.
 * @typedef {{ model: string, variant: string, phase: string, context: number, batch: number,
 *   accelerator: string, dtype: string, cache_dtype: string, fused: boolean }} Chosen
 */

/** @type {(accelerator: string, dtype: string) => string} */
export const lacks = (accelerator, dtype) => `${accelerator} has no tensor cores for ${dtype}`;

/** @type {(model: Heads, variant: string) => string} */
export function variantName(model, variant) {
  const kv = kvHeads(model, variant);
  const told = variant === "as configured" ? ", configured" : "";
  return `${kindOf(model.n_heads, kv)}: ${kv} of ${model.n_heads}${told}`;
}

/** @type {(model: Configuration, chosen: Chosen) => string} */
export function sizesInWords(model, { variant, phase, context, batch, dtype, cache_dtype }) {
  const cached = cache_dtype === dtype ? "" : `, cache in ${cache_dtype}`;
  return (
    `${phase === "decode" ? "One token" : "The prompt"} of ${model.name}, `
    + `${variantName(model, variant)}, `
    + `${grouped(context)} tokens, batch ${grouped(batch)}, ${dtype}${cached},`
  );
}

/** @type {(model: Configuration, accelerator: Accelerator) => string} */
export function notes(model, accelerator) {
  const own = model.note ? ` ${model.name}: ${model.note}.` : "";
  return (
    "Nothing is masked: a causal kernel that skips forbidden blocks needs half of the prefill's "
    + "scores and mix. Every byte moves once, and real kernels stay below the roof. "
    + `Sizes: ${model.source}. ${accelerator.name}: ${accelerator.source}.${own}`
  );
}

/**
 * What needs memory: weights, activations, and the cache of each variant that differs.
 * @type {(cost: Cost, model: Configuration, chosen: Chosen) => Need[]}
 */
export function needs(cost, model, { variant, phase }) {
  /** @type {(name: string) => number} */
  const kv = (name) => kvHeads(model, name);
  const kept = VARIANTS.filter((name) => name === variant || kv(name) !== kv(variant)).filter(
    (name, i, all) => all.findIndex((other) => kv(other) === kv(name)) === i,
  );
  return [
    ["four projections, all layers", cost.weights, true],
    [`activations of one layer, ${phase}`, cost.activations, true],
    ...kept.map(
      (name) =>
        /** @type {Need} */ ([
          `cache, ${variantName(model, name)}`,
          cost.caches[name],
          name === variant,
        ]),
    ),
  ];
}
