// Sizes that hold each other: what a dial goes over, what moves along, and what repairs them.

import assert from "node:assert/strict";
import test from "node:test";

import {
  divisors,
  left,
  problemOf,
  repairs,
  roundSizes,
  settled,
} from "../../../mhsa_book/widgets/shared/size_rules.js";
import { doublings, nearest } from "../../../mhsa_book/widgets/shared/stops.js";

const MOST = { d_model: 40, n_heads: 12, n_kv_heads: 12, d_head: 9 };
const gpt2 = { d_model: 768, n_heads: 12, n_kv_heads: 12, d_head: null };
const WIDE = { d_model: 16_384, n_heads: 128, n_kv_heads: 128, d_head: 512 };
const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

test("stops are powers of two, with three times them for the sizes of models, and the ends", () => {
  assert.deepEqual(doublings(8), [1, 2, 4, 8]);
  assert.deepEqual(doublings(10), [1, 2, 4, 8, 10]);
  assert.deepEqual(roundSizes(16), [1, 2, 3, 4, 6, 8, 12, 16]);
  for (const [list, most] of [
    [doublings(131_072), 131_072],
    [roundSizes(16_384), 16_384],
    [roundSizes(1), 1],
  ]) {
    assert.deepEqual([list[0], list.at(-1)], [1, most]);
    assert.deepEqual(
      list,
      [...new Set(list)].sort((a, b) => a - b),
    );
  }
  assert.deepEqual(
    [768, 1024, 4096, 12_288].filter((size) => !roundSizes(16_384).includes(size)),
    [],
  );
});

test("the nearest differs by the smallest factor", () => {
  assert.equal(nearest([4, 8], 5), 4);
  assert.equal(nearest([1, 2, 4, 8, 16], 12), 16);
  assert.equal(nearest([0.01, 0.02, 0.05], 0.04), 0.05);
});

test("n_heads goes over the divisors of d_model, unless heads have a width of their own", () => {
  assert.deepEqual(left("n_heads", { ...gpt2, d_model: 12 }, MOST), [1, 2, 3, 4, 6, 12]);
  assert.deepEqual(left("n_heads", { ...gpt2, d_head: 5 }, MOST), null);
  assert.deepEqual(left("n_heads", { n_heads: 12, n_kv_heads: 4, d_head: 5 }, MOST), null);
  assert.deepEqual(left("n_kv_heads", gpt2, MOST), [1, 2, 3, 4, 6, 12]);
  assert.deepEqual(divisors(16_384, 100), [1, 2, 4, 8, 16, 32, 64]);
});

test("from every valid state every stop of every dial leads to a valid state", () => {
  let seen = 0;
  for (const d_model of upTo(24))
    for (const n_heads of upTo(12))
      for (const n_kv_heads of upTo(n_heads))
        for (const d_head of [null, 1, 7]) {
          const sizes = { d_model, n_heads, n_kv_heads, d_head };
          if (problemOf(sizes)) continue;
          for (const name of Object.keys(sizes)) {
            const stops = left(name, sizes, MOST) ?? [
              ...roundSizes(MOST[name]),
              ...(name === "d_head" ? [null] : [5, 11]),
            ];
            for (const stop of stops.filter((size) => name !== "n_heads" || size <= MOST.n_heads)) {
              if (name === "n_heads" && left(name, sizes, MOST)?.includes(stop) === false) continue;
              const after = settled(
                { ...sizes, [name]: stop },
                name,
                { ...sizes, n_kv_heads: n_kv_heads === n_heads ? null : n_kv_heads },
                MOST,
              );
              assert.equal(after[name], stop);
              assert.equal(problemOf(after), null, JSON.stringify({ sizes, name, stop, after }));
              seen += 1;
            }
          }
        }
  assert.ok(seen > 10_000, seen);
});

test("what moved along comes back on the way back", () => {
  const wished = { n_heads: 12, n_kv_heads: 4 };
  const there = settled({ ...gpt2, n_kv_heads: 4, d_model: 512 }, "d_model", wished, WIDE);
  assert.deepEqual([there.n_heads, there.n_kv_heads], [16, 4]);
  const back = settled({ ...there, d_model: 768 }, "d_model", wished, WIDE);
  assert.deepEqual([back.n_heads, back.n_kv_heads], [12, 4]);
});

test("heads for keys stay as many as all heads, or go to the nearest divisor", () => {
  const of = (n_heads, wish) =>
    settled({ ...gpt2, n_heads }, "n_heads", { n_heads, n_kv_heads: wish }, WIDE).n_kv_heads;
  assert.deepEqual([of(10, null), of(96, null), of(10, 4), of(8, 4), of(1, 4)], [10, 96, 5, 4, 1]);
});

test("d_head of its own moves nothing, and without it n_heads finds a divisor again", () => {
  const typed = { ...gpt2, n_heads: 10, n_kv_heads: 10 };
  const own = settled({ ...typed, d_head: 77 }, "d_head", { n_heads: 10, n_kv_heads: null }, WIDE);
  assert.deepEqual([own.n_heads, own.n_kv_heads, problemOf(own)], [10, 10, null]);
  assert.equal(
    settled({ ...own, d_head: null }, "d_head", { n_heads: 10, n_kv_heads: null }, WIDE).n_heads,
    12,
  );
});

test("every repair that is offered repairs, and there is always one", () => {
  for (const d_model of upTo(24))
    for (const n_heads of upTo(12))
      for (const n_kv_heads of upTo(12))
        for (const d_head of [null, 5]) {
          const sizes = { d_model, n_heads, n_kv_heads, d_head };
          if (!problemOf(sizes)) continue;
          const offers = repairs(sizes, MOST);
          assert.ok(offers.length > 0, JSON.stringify(sizes));
          for (const [name, size] of offers)
            assert.equal(problemOf(settled({ ...sizes, [name]: size }, name, sizes, MOST)), null);
        }
});

test("the repairs of ten heads are those of the message, and the nearest heads", () => {
  assert.deepEqual(repairs({ ...gpt2, n_heads: 10, n_kv_heads: 10 }, WIDE), [
    ["n_heads", 8],
    ["n_heads", 12],
    ["d_model", 760],
    ["d_model", 770],
    ["d_head", 77],
  ]);
  assert.deepEqual(repairs({ ...gpt2, n_kv_heads: 5 }, WIDE), [
    ["n_kv_heads", 4],
    ["n_kv_heads", 6],
  ]);
  assert.deepEqual(
    repairs({ n_heads: 32, n_kv_heads: 5, d_head: 128 }, { n_heads: 512, n_kv_heads: 512 }),
    [
      ["n_kv_heads", 4],
      ["n_kv_heads", 8],
      ["n_heads", 35],
    ],
  );
});
