// The page's own forward pass, as alone as it can be: no Python, no browser.

import assert from "node:assert/strict";
import test from "node:test";

import { hits } from "../../../mhsa_book/widgets/repeater_lab/guesses.js";
import { largest, run } from "../../../mhsa_book/widgets/repeater_lab/model.js";
import { encoded, randomRepeats } from "../../../mhsa_book/widgets/repeater_lab/texts.js";
import { halves, unpack } from "../../../mhsa_book/widgets/shared/halves.js";

test("two bytes make a number", () => {
  const raw = Uint8Array.from([0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x7c]);
  assert.deepEqual([...halves(raw)], [1, -2, 2 ** -24, NaN]);
});

test("matrices lie one after the other", () => {
  const ones = Uint8Array.from(Array(5).fill([0x00, 0x3c]).flat());
  const { a, b } = unpack(ones, [
    ["a", 1, 3],
    ["b", 2, 1],
  ]);
  assert.deepEqual([a.length, a[0].length, b.length, b[0].length], [1, 3, 2, 1]);
});

test("a text becomes ids, or a sentence", () => {
  assert.deepEqual(encoded("Ab ", "ab ", 9), { ids: [3, 0, 1, 2] });
  assert.match(encoded("a!", "ab ", 9).problem, /character 2, “!” \(U\+0021\)/);
  assert.match(encoded("aaa", "ab ", 3).problem, /3 characters, the model has positions for 2/);
});

// Two tokens and a start, one layer of one head that looks at everything alike and copies.
const tiny = (value) => {
  const rows = (m) => m.map((row) => Float64Array.from(row));
  const [zero, one] = [
    [
      [0, 0],
      [0, 0],
    ],
    [
      [value, 0],
      [0, value],
    ],
  ];
  return {
    tokens: rows([
      [1, 0],
      [0, 1],
      [0, 0],
    ]),
    positions: rows([
      [0, 0],
      [0, 0],
      [0, 0],
    ]),
    "0.W_Q": rows(zero),
    "0.W_K": rows(zero),
    "0.W_V": rows(one),
    "0.W_O": rows([
      [1, 0],
      [0, 1],
    ]),
    unembed: rows([
      [1, 0],
      [0, 1],
      [0, 0],
    ]),
  };
};

test("a head writes the mean of what it may look at, and nothing when it is off", () => {
  const odds = ([a, b]) => Math.log(a / b);
  const on = run(tiny(3), [2, 0, 1], 1, 1);
  assert.deepEqual(
    on.weights[0][0].map((row) => row.map((w) => w.toFixed(3))),
    [
      ["1.000", "0.000", "0.000"],
      ["0.500", "0.500", "0.000"],
      ["0.333", "0.333", "0.333"],
    ],
  );
  assert.ok(Math.abs(odds(on.probabilities[1]) - (1 + 3 / 2)) < 1e-12);
  const off = run(tiny(3), [2, 0, 1], 1, 1, [[0, 0]]);
  assert.ok(Math.abs(odds(off.probabilities[1]) - 1) < 1e-12);
});

test("the largest come first, and hits are counted", () => {
  assert.deepEqual(largest([0.1, 0.7, 0.2], 2), [1, 2]);
  assert.equal(
    hits(
      [9, 1, 0],
      [
        [0.1, 0.9],
        [0.2, 0.8],
        [1, 0],
      ],
    ),
    1,
  );
});

test("random letters repeat", () => {
  let i = 0;
  const text = randomRepeats(() => (i++ % 7) / 7);
  assert.equal(text.slice(0, 3), text.slice(-3));
  assert.equal(text.length % 2, 1);
});
