// The sentences of the head budget.

import assert from "node:assert/strict";
import test from "node:test";

import { budgetSummary } from "../../../mhsa_book/widgets/head_budget/budget.js";

test("at the usual width nothing is said of a free one", () => {
  const text = budgetSummary({ d_model: 512, n_heads: 8, d_head: 64 });
  assert.match(
    text,
    /^8 heads of width 64 cost the parameters and products of one head of width 512\./,
  );
  assert.match(text, /8 distributions instead of 1, and each score compares/);
  assert.match(text, /in at most 64 directions instead of 512\.$/);
  assert.match(
    budgetSummary({ d_model: 64, n_heads: 8, d_head: 64 }),
    /in at most 64 directions, as with one head\. Here/,
  );
});

test("a width of its own is said with what it does to the parameters", () => {
  assert.match(
    budgetSummary({ d_model: 1024, n_heads: 16, d_head: 128 }),
    /2,048, not d_model: parameters × 2/,
  );
  assert.match(
    budgetSummary({ d_model: 2304, n_heads: 8, d_head: 144 }),
    /1,152, not d_model: parameters ÷ 2/,
  );
});

test("one head is one head", () => {
  assert.match(
    budgetSummary({ d_model: 8, n_heads: 1, d_head: 8 }),
    /^1 head of width 8 .*one distribution\.$/,
  );
});
