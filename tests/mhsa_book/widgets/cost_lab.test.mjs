// The words and the choices of the cost lab.

import assert from "node:assert/strict";
import test from "node:test";

import { regime } from "../../../mhsa_book/widgets/cost_lab/roofline.js";
import { costOf, kvHeads } from "../../../mhsa_book/widgets/cost_lab/variants.js";
import { kindOf } from "../../../mhsa_book/widgets/shared/costs.js";
import { fits } from "../../../mhsa_book/widgets/shared/memory.js";
import { duration } from "../../../mhsa_book/widgets/shared/numbers.js";

const MODEL = { layers: 2, d_model: 64, n_heads: 8, n_kv_heads: 2, d_head: 8, biases: "" };
const CHIP = { name: "chip", memory: 2 ** 30, bandwidth: 1e9, peak: { float16: 1e11 } };
const CHOICE = {
  model: MODEL,
  accelerator: CHIP,
  variant: "as configured",
  phase: "prefill",
  context: 100,
  batch: 1,
  dtype: "float16",
  cache_dtype: "int8",
  fused: true,
};

test("sharing keys has three names", () => {
  assert.deepEqual(
    [kindOf(8, 8), kindOf(8, 2), kindOf(8, 1), kindOf(1, 1)],
    ["MHA", "GQA", "MQA", "MHA"],
  );
  assert.deepEqual(
    ["MHA", "as configured", "MQA"].map((variant) => kvHeads(MODEL, variant)),
    [8, 2, 1],
  );
});

test("the cache has a dtype of its own and is one of three", () => {
  const { caches } = costOf(CHOICE);
  assert.deepEqual(caches, { MHA: 25_600, "as configured": 6400, MQA: 3200 });
});

test("without tensor cores for a dtype there is memory and no roof", () => {
  const { peak, stages, weights } = costOf({ ...CHOICE, dtype: "bfloat16" });
  assert.equal(peak, null);
  assert.equal(stages[0].limit, undefined);
  assert.equal(weights, 2 * 2 * (2 * 64 * 64 + 2 * 64 * 16));
});

test("the regime is named with its distance from the ridge", () => {
  assert.equal(
    regime({ stage: "W_O", intensity: 1, ridge: 206, limit: "memory" }),
    "W_O is memory-bound: 1.0 FLOPs per byte, 206 times below it",
  );
  assert.equal(
    regime({ stage: "W_O", intensity: 2048, ridge: 206, limit: "arithmetic" }),
    "W_O is compute-bound: 2048 FLOPs per byte, 9.9 times above it",
  );
});

test("what fits is a share, what does not is a multiple", () => {
  assert.match(fits(2 ** 29, CHIP), /512 MiB takes 50 % of the 1 GiB of one chip/);
  assert.match(fits(2 ** 20, CHIP), /less than 1 %/);
  assert.match(fits(2 ** 31, CHIP), /does not fit: it is 2\.0 times the 1 GiB of one chip/);
  assert.match(fits(2 ** 50, CHIP), /does not fit: it is 1,048,576 times the 1 GiB of one chip/);
});

test("a time has three digits and a unit", () => {
  assert.deepEqual([3.58e-3, 2.24e-4, 1.5, 43_632, 436_326, 30_744_573, 1e9].map(duration), [
    "3.58 ms",
    "224 µs",
    "1.5 s",
    "43,632 s",
    "5.05 days",
    "356 days",
    "11,574 days",
  ]);
});
