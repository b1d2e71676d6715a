// What is kept, in cases that can be worked out by hand, and its words.

import assert from "node:assert/strict";
import test from "node:test";

import {
  cacheOf,
  inWords,
  kindInWords,
  numbersKept,
  resolved,
} from "../../../mhsa_book/widgets/cache_calculator/caches.js";

const LLAMA = { layers: 32, n_heads: 32, n_kv_heads: 8, d_head: 128, d_latent: 512, d_rope: 64 };
const DEEPSEEK = { ...LLAMA, layers: 61, n_heads: 128 };
const CHIP = { name: "chip", memory: 2 ** 34, bandwidth: 2 ** 33 };
const LOAD = { tokens: 131_072, sequences: 1, itemsize: 2 };

test("keys and values are kept once per head that has its own", () => {
  assert.deepEqual(numbersKept(LLAMA), { MHA: 8192, GQA: 2048, MQA: 256, MLA: 576 });
  assert.equal(numbersKept(DEEPSEEK).MHA / numbersKept(DEEPSEEK).MLA, 512 / 9); // 56.9
});

test("a kind that is the twin of another is left out", () => {
  assert.deepEqual(Object.keys(numbersKept({ ...LLAMA, n_kv_heads: 32 })), ["MHA", "MQA", "MLA"]);
  assert.deepEqual(Object.keys(numbersKept({ ...LLAMA, n_kv_heads: 1 })), ["MHA", "MQA", "MLA"]);
  assert.deepEqual(Object.keys(numbersKept({ ...LLAMA, n_heads: 1, n_kv_heads: 1 })), [
    "MHA",
    "MLA",
  ]);
  assert.equal(resolved("GQA", { n_heads: 4, n_kv_heads: 1 }), "MQA");
  assert.equal(resolved("GQA", { n_heads: 4, n_kv_heads: 4 }), "MHA");
  assert.equal(resolved("MLA", { n_heads: 4, n_kv_heads: 4 }), "MLA");
});

test("a token, all tokens, how many fit, and how long reading takes", () => {
  const [, gqa] = cacheOf(LLAMA, LOAD, CHIP);
  assert.deepEqual(gqa, {
    kind: "GQA",
    numbers: 2048,
    token: 131_072,
    total: 2 ** 34,
    fit: 1,
    seconds: 2,
  });
  const two = cacheOf(LLAMA, { ...LOAD, sequences: 2 }, CHIP)[1];
  assert.deepEqual([two.total, two.fit, two.seconds], [2 ** 35, 1, 4]);
  assert.equal(cacheOf(DEEPSEEK, LOAD, CHIP)[3].token, 70_272);
});

test("the words name the heads, the bytes and the room", () => {
  assert.equal(kindInWords("GQA", LLAMA), "GQA: 8 of 32 heads");
  assert.equal(kindInWords("MLA", DEEPSEEK), "MLA: latent 512 + 64");
  const words = inWords(cacheOf(LLAMA, LOAD, CHIP)[1], LLAMA, LOAD, CHIP);
  assert.match(words, /keeps 2,048 numbers of a token in each of 32 layers, 131,072 bytes in all/);
  assert.match(words, /That is for 1 sequence of 131,072 tokens; .* there is room for 1\./);
  assert.match(words, /takes 100 % of the 16 GiB of one chip/);
  assert.match(words, /takes 2 s or more\.$/);
});
