// What the figures say about sizes that hold each other.

import assert from "node:assert/strict";
import test from "node:test";

import { lawInWords, movedInWords } from "../../../mhsa_book/widgets/shared/size_words.js";

const gpt2 = { d_model: 768, n_heads: 12, n_kv_heads: 12, d_head: null };

test("the rule and what moved are said with their numbers", () => {
  assert.equal(
    lawInWords({ ...gpt2, n_kv_heads: 4 }),
    "n_heads divides d_model: 768 / 12 = 64 = d_head. n_kv_heads divides n_heads: 12 / 4 = 3.",
  );
  assert.match(
    lawInWords({ ...gpt2, d_head: 77 }),
    /^d_head has its own size, so n_heads need not divide d_model\./,
  );
  assert.equal(
    lawInWords({ n_heads: 32, n_kv_heads: 8, d_head: 128 }),
    "n_kv_heads divides n_heads: 32 / 8 = 4.",
  );
  const after = { ...gpt2, d_model: 512, n_heads: 16, n_kv_heads: 16 };
  const moved = "n_heads 12 → 16, the nearest that divides d_model 512.";
  const along = "n_kv_heads 12 → 16, as many as n_heads.";
  assert.equal(movedInWords(gpt2, after, "d_model"), `${moved} ${along}`);
  assert.equal(
    movedInWords({ ...gpt2, n_kv_heads: 4 }, { ...gpt2, n_heads: 10, n_kv_heads: 5 }, "n_heads"),
    "n_kv_heads 4 → 5, the nearest that divides n_heads 10.",
  );
  assert.equal(movedInWords(gpt2, gpt2, "d_model"), "");
});
