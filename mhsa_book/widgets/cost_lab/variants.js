// @ts-check
// Attention of a model in three variants and two phases: every number of the cost lab.

import {
  NUMBER_BYTES,
  activationBytes,
  cacheBytes,
  layerParameters,
  stageWork,
  underRoof,
} from "../shared/costs.js";
import { total } from "../shared/numbers.js";

/** @import { Accelerator, Configuration, Heads, Load, StageWork } from "../shared/costs.js" */

export const PHASES = ["prefill", "decode"];

export const VARIANTS = ["MHA", "as configured", "MQA"];

/** Key-value heads of a variant of a model. @type {(model: Heads, variant: string) => number} */
export const kvHeads = ({ n_heads, n_kv_heads }, variant) =>
  variant === "as configured" ? n_kv_heads : variant === "MHA" ? n_heads : 1;

/**
 * Every number of the figure for a choice of model, accelerator and sizes; where the accelerator
 * has no arithmetic of the dtype, `peak` is null and the stages have no limit.
 * @param {{ model: Configuration, accelerator: Accelerator, variant: string, phase: string,
 *   context: number, batch: number, dtype: string, cache_dtype: string, fused: boolean }} chosen
 */
export function costOf({ model, accelerator, variant, phase, context, batch, fused, ...dtypes }) {
  const shared = { ...model, n_kv_heads: kvHeads(model, variant) };
  const itemsize = NUMBER_BYTES[dtypes.dtype];
  const cache_itemsize = NUMBER_BYTES[dtypes.cache_dtype];
  /** @type {(phase: string) => Load} */
  const tokens = (name) => {
    const n_query = name === "prefill" ? context : 1;
    return { n_query, n_key: context, batch, itemsize, cache_itemsize, fused };
  };
  const peak = accelerator.peak[dtypes.dtype] ?? null;
  const stages = PHASES.flatMap((name) =>
    Object.entries(stageWork(shared, tokens(name))).map(([stage, work]) => {
      const roof = peak && underRoof(work, peak, accelerator.bandwidth);
      return /** @type {StageWork} */ ({ phase: name, stage, ...work, ...roof });
    }),
  );
  /** @type {(variant: string) => number} */
  const cache = (name) =>
    cacheBytes({ ...model, n_kv_heads: kvHeads(model, name) }, context, batch, cache_itemsize);
  return {
    peak,
    stages,
    weights: model.layers * total(Object.values(layerParameters(shared))) * itemsize,
    activations: activationBytes(shared, tokens(phase)),
    caches: Object.fromEntries(VARIANTS.map((name) => [name, cache(name)])),
  };
}

/** @typedef {ReturnType<typeof costOf>} Cost */
