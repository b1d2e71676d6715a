// What attention costs, in a few cases that can be worked out by hand.

import assert from "node:assert/strict";
import test from "node:test";

import { change, headBudget } from "../../../mhsa_book/widgets/head_budget/budget.js";
import {
  activationBytes,
  cacheBytes,
  layerParameters,
  stageWork,
  underRoof,
} from "../../../mhsa_book/widgets/shared/costs.js";
import { binary } from "../../../mhsa_book/widgets/shared/numbers.js";
import { logScale } from "../../../mhsa_book/widgets/shared/scales.js";

const LLAMA = { layers: 32, d_model: 4096, n_heads: 32, n_kv_heads: 8, d_head: 128, biases: "" };

test("a layer of Llama 3.1 8B has 41,943,040 learned numbers in its attention", () => {
  const { W_Q, W_K, W_V, W_O } = layerParameters(LLAMA);
  assert.equal(W_Q + W_K + W_V + W_O, 41_943_040);
  assert.equal(layerParameters({ ...LLAMA, biases: "QKV" }).W_O, W_O);
  assert.equal(layerParameters({ ...LLAMA, biases: "QKV" }).W_K, W_K + 1024);
});

test("its cache at 131,072 tokens is 16 GiB", () => {
  assert.equal(cacheBytes(LLAMA, 131_072, 1, 2), 16 * 2 ** 30);
  assert.equal(binary(cacheBytes(LLAMA, 131_072, 1, 2)), "16 GiB");
});

test("decoding does about four FLOPs per byte, because four heads share a key", () => {
  const tokens = {
    n_query: 1,
    n_key: 1_000_000,
    batch: 7,
    itemsize: 2,
    cache_itemsize: 2,
    fused: true,
  };
  assert.ok(Math.abs(stageWork(LLAMA, tokens)["scores + mix"].intensity - 4) < 0.001);
});

test("fusion takes the table out of the activations and out of the traffic", () => {
  const tokens = { n_query: 10, n_key: 10, batch: 1, itemsize: 2, cache_itemsize: 2 };
  const table = 32 * 10 * 10 * 2;
  const [fused, written] = [true, false].map((on) => ({ ...tokens, fused: on }));
  assert.equal(activationBytes(LLAMA, written) - activationBytes(LLAMA, fused), 2 * table);
  const traffic = (given) => stageWork(LLAMA, given)["scores + mix"].bytes;
  assert.equal(traffic(written) - traffic(fused), 4 * table);
});

test("below the ridge memory is the limit, above it arithmetic", () => {
  const under = (flops, bytes) => underRoof({ flops, bytes, intensity: flops / bytes }, 100, 10);
  assert.deepEqual(under(20, 10), { ridge: 10, attainable: 20, seconds: 1, limit: "memory" });
  assert.deepEqual(under(200, 10), { ridge: 10, attainable: 100, seconds: 2, limit: "arithmetic" });
});

test("heads multiply distributions and divide directions, and nothing else but weights", () => {
  const rows = headBudget({ d_model: 512, n_heads: 8, d_head: 64, seq: 32 });
  assert.deepEqual(
    rows.map(({ one, now }) => change(one, now)),
    ["same", "same", "same", "same", "× 8", "÷ 8", "× 8"],
  );
});

test("a score has no more directions than x has columns", () => {
  const row = headBudget({ d_model: 4, n_heads: 2, d_head: 9, seq: 1 }).find(({ name }) =>
    name.startsWith("directions"),
  );
  assert.deepEqual([row.one, row.now], [4, 4]);
});

test("bytes are said in three digits, and never as 1024 of something", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 1_048_575, 2 ** 60].map(binary), [
    "0 bytes",
    "1023 bytes",
    "1 KiB",
    "1.5 KiB",
    "1 MiB",
    "1 EiB",
  ]);
});

test("a logarithmic axis has equal steps for equal ratios, and an end", () => {
  const x = logScale(1, 100, 0, 200);
  assert.deepEqual([x(1), x(10), x(100), x(1e9), x(0)], [0, 100, 200, 200, 0]);
});
