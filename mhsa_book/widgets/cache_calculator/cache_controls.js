// @ts-check
// A model of the list or the reader's own sizes, and the choices that lead there.

import { choice } from "../shared/controls.js";
import { NUMBER_BYTES } from "../shared/costs.js";
import { readAll, write, writeAll } from "../shared/traits.js";
import { KINDS, resolved } from "./caches.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Chosen } from "./cache_calculator.js" */
/** @import { CacheSizes } from "./caches.js" */
/** @typedef {CacheSizes & { name: string, kind: string, source: string, note?: string }} Known */

export const OWN = "own sizes";

export const CACHE_DIALS = {
  layers: 512,
  n_heads: 512,
  n_kv_heads: 512,
  d_head: 2048,
  d_latent: 16_384,
  d_rope: 2048,
};

export const SIZE_NAMES = Object.keys(CACHE_DIALS);

/**
 * What is chosen: a model of the list or the reader's own sizes, and a kind.
 * @param {Model} traits
 */
export function chosenIn(traits) {
  const models = /** @type {Known[]} */ (traits.get("models"));
  const known = () => models.find(({ name }) => name === traits.get("model"));
  const sizes = () => known() ?? /** @type {CacheSizes} */ (readAll(traits, SIZE_NAMES));
  const asked = () => /** @type {string} */ (traits.get("kind") ?? known()?.kind ?? "GQA");
  const kind = () => resolved(asked(), sizes());
  const configured = () => known() && resolved(known()?.kind ?? "GQA", sizes());
  /**
   * From here on the sizes are the reader's: those in sight, some of them changed.
   * @type {(changed: object) => void}
   */
  const own = (changed) => {
    const kept = kind() === "MLA" ? "MLA" : traits.get("kind");
    const now = Object.entries({ ...sizes(), ...changed });
    const names = now.filter(([name]) => SIZE_NAMES.includes(name));
    writeAll(traits, { ...Object.fromEntries(names), kind: kept, model: OWN });
  };
  return { known, sizes, asked, kind, configured, own };
}

/** The four choices. @param {Model} traits @param {Chosen} chosen @param {AbortSignal} signal */
export function choicesOf(traits, chosen, signal) {
  /** @type {(list: { name: string }[]) => string[]} */
  const names = (list) => list.map(({ name }) => name);
  const models = names(traits.get("models"));
  /**
   * @type {(trait: string, options: string[], change?: (i: number) => void) =>
   *   ReturnType<typeof choice> & { options: string[] }}
   */
  const pick = (trait, options, change = (i) => write(traits, trait, options[i])) => {
    const value = Math.max(0, options.indexOf(traits.get(trait)));
    return { options, ...choice({ label: trait, options, value, signal, change }) };
  };
  const model = pick("model", [...models, OWN], (i) => {
    if (i === models.length) chosen.own({});
    else writeAll(traits, { kind: null, model: models[i] });
  });
  const kind = pick("kind", KINDS);
  const dtype = pick("dtype", Object.keys(NUMBER_BYTES));
  const accelerator = pick("accelerator", names(traits.get("accelerators")));
  return { model, kind, dtype, accelerator };
}
