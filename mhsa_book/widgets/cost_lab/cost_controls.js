// @ts-check
// What the reader chooses in the cost lab: controls, and what moves along.

import { check, choice } from "../shared/controls.js";
import { NUMBER_BYTES } from "../shared/costs.js";
import { dial } from "../shared/dial.js";
import { write, writeAll } from "../shared/traits.js";
import { PHASES, VARIANTS } from "./variants.js";
import { lacks, variantName } from "./words.js";

/** @import { Accelerator, Configuration } from "../shared/costs.js" */
/** @import { Notice } from "../shared/notice.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Chosen } from "./words.js" */

export const TRAITS = ["model", "variant", "phase", "accelerator", "dtype", "cache_dtype"];

export const SIZES = ["context", "batch"];

export const EVERY_TRAIT = [...TRAITS, ...SIZES, "fused"];

/** What the reader changes, and what moves along with it. @param {Model} traits */
export function changes(traits) {
  const accelerators = /** @type {Accelerator[]} */ (traits.get("accelerators"));
  let moved = { accelerator: "", dtype: "", wish: "", words: "" };
  /**
   * What moved along is said until the next change.
   * @type {(trait: string, value: unknown) => void}
   */
  const put = (trait, value) => {
    moved.words = "";
    write(traits, trait, value);
  };
  /**
   * The dtype moves along to the first that the accelerator has, and on the way back comes back.
   * @type {(name: string) => void}
   */
  function setAccelerator(name) {
    const peak = accelerators.find((one) => one.name === name)?.peak ?? {};
    const before = traits.get("dtype");
    const wish = before === moved.dtype ? moved.wish : before;
    const dtype = peak[wish] ? wish : Object.keys(peak)[0];
    const why = dtype === wish ? "as before" : `the ${lacks(name, before)}`;
    const words = dtype === before ? "" : `dtype ${before} → ${dtype}: ${why}.`;
    moved = { accelerator: name, dtype, wish, words };
    writeAll(traits, { accelerator: name, dtype });
  }
  /** @type {(chosen: Chosen) => string} */
  const words = ({ accelerator, dtype }) =>
    moved.accelerator === accelerator && moved.dtype === dtype ? moved.words : "";
  return { put, setAccelerator, words };
}

/**
 * Every control, by its trait.
 * @param {Model} traits @param {ReturnType<typeof changes>} change @param {Notice} place
 * @param {AbortSignal} signal
 */
export function controlsOf(traits, { put, setAccelerator }, place, signal) {
  /** @type {(list: { name: string }[]) => string[]} */
  const names = (list) => list.map(({ name }) => name);
  /**
   * @type {(trait: string, label: string, options: string[], change?: (value: string) => void) =>
   *   ReturnType<typeof choice> & { options: string[] }}
   */
  const pick = (trait, label, options, change = (value) => put(trait, value)) => {
    const value = options.indexOf(traits.get(trait));
    const set = (/** @type {number} */ i) => change(options[i]);
    return { options, ...choice({ label, options, value, signal, change: set }) };
  };
  const choices = {
    model: pick("model", "model", names(traits.get("models"))),
    variant: pick("variant", "n_kv_heads", VARIANTS),
    phase: pick("phase", "phase", PHASES),
    accelerator: pick(
      "accelerator",
      "accelerator",
      names(traits.get("accelerators")),
      setAccelerator,
    ),
    dtype: pick("dtype", "dtype", ["bfloat16", "float16", "float32"]),
    cache_dtype: pick("cache_dtype", "cache dtype", Object.keys(NUMBER_BYTES)),
  };
  /** @type {(trait: string, unit: string, max: number) => ReturnType<typeof dial>} */
  const size = (trait, unit, max) =>
    dial({
      label: trait,
      unit,
      max,
      value: traits.get(trait),
      signal,
      change: (size) => put(trait, size),
      wrong: place.wrong,
    });
  const dials = {
    context: size("context", "token", 1_048_576),
    batch: size("batch", "sequence", 1024),
  };
  const fused = check({
    label: "fused: scores never reach memory",
    value: traits.get("fused"),
    signal,
    change: (on) => put("fused", on),
  });
  return { choices, dials, fused };
}

/**
 * Show what is chosen, and which dtypes there are.
 * @type {(controls: ReturnType<typeof controlsOf>, chosen: Chosen, model: Configuration,
 *   accelerator: Accelerator) => void}
 */
export function showControls({ choices, dials, fused }, chosen, model, accelerator) {
  for (const [trait, { options, show }] of Object.entries(choices)) {
    show(options.indexOf(chosen[/** @type {keyof typeof choices} */ (trait)]));
  }
  dials.context.show(chosen.context);
  dials.batch.show(chosen.batch);
  fused.show(chosen.fused);
  VARIANTS.forEach((variant, i) => {
    choices.variant.select.options[i].textContent = variantName(model, variant);
  });
  for (const option of choices.dtype.select.options) {
    option.disabled = !accelerator.peak[option.value];
  }
}
