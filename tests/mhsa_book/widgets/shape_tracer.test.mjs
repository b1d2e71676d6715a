// The ledger of sizes that a reader chooses, and the words about it.

import assert from "node:assert/strict";
import test from "node:test";

import { axisSizes, ledger, totals } from "../../../mhsa_book/widgets/shape_tracer/ledger.js";
import { boxSides } from "../../../mhsa_book/widgets/shape_tracer/rows.js";
import { summary } from "../../../mhsa_book/widgets/shape_tracer/shape_tracer.js";
import { wrongSizes } from "../../../mhsa_book/widgets/shared/size_rules.js";

const gpt2 = { batch: 1, seq: 1024, d_model: 768, n_heads: 12, n_kv_heads: 12, d_head: null };

test("a missing d_head is d_model / n_heads, a given one is kept", () => {
  assert.equal(axisSizes(gpt2).d_head, 64);
  assert.equal(axisSizes({ ...gpt2, d_head: 128 }).d_heads, 1536);
});

test("heads that do not divide are refused with a repair", () => {
  assert.match(
    wrongSizes({ ...gpt2, n_heads: 10, n_kv_heads: 10 }),
    /try d_model=760 or d_model=770/,
  );
  assert.match(wrongSizes({ ...gpt2, n_kv_heads: 5 }), /try n_kv_heads=4 or n_kv_heads=6/);
  assert.equal(wrongSizes({ ...gpt2, n_heads: 10, n_kv_heads: 2, d_head: 7 }), null);
});

test("new memory becomes a view where an axis holds one number", () => {
  const recipe = [
    {
      wire: "concat",
      axes: ["query", "d_heads"],
      result: "new memory",
      view_at_one: ["query"],
      sums: null,
      weight: null,
    },
  ];
  const result = (seq) => ledger(recipe, axisSizes({ ...gpt2, seq }), 4)[0].result;
  assert.deepEqual([result(1), result(2)], ["view", "new memory"]);
});

test("totals count a view's bytes as none", () => {
  const row = { parameters: 5, flops: 7, bytes: 100 };
  assert.deepEqual(
    totals([
      { ...row, result: "new memory" },
      { ...row, result: "view" },
    ]),
    { parameters: 10, flops: 14, bytes: 100 },
  );
});

test("sides of boxes compare across wires, and nothing is too thin to see", () => {
  const wide = boxSides([1, 16, 4096], 4096);
  assert.ok(Math.abs(wide.width / wide.height - 16) < 1e-9);
  assert.equal(boxSides([1, 1, 16_384], 16_384).height, 1.5);
});

test("the sentence speaks of the table of weights", () => {
  const cost = { parameters: 0, flops: 0, bytes: 50_331_648 };
  const rows = [{ wire: "weights", result: "new memory", ...cost }];
  assert.match(
    summary(rows, { query: 1024, key: 1024, batch: 1, head: 12 }),
    /1,024 × 1,024 numbers for each of 1 × 12 heads: 50.3 M bytes/,
  );
});
