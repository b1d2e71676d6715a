import assert from "node:assert/strict";
import test from "node:test";

import {
  product,
  stacked,
  summed,
  ticks,
  written,
} from "../../../mhsa_book/widgets/output_sum/sums.js";
import { roomFor } from "../../../mhsa_book/widgets/output_sum/measures.js";
import { signed, describe } from "../../../mhsa_book/widgets/output_sum/words.js";

const z = [[[1, 2]], [[3, -1]]]; // two heads, one token, two columns each
const W_O = [
  [1, 0],
  [0, 1],
  [2, 2],
  [1, -1],
];

test("a head writes its z times its own block of rows", () => {
  assert.deepEqual(written(z, W_O), [[[1, 2]], [[5, 7]]]);
});

test("the parts add up to the product, whichever heads are off", () => {
  for (const off of [[], [0], [1], [0, 1]]) {
    assert.deepEqual(summed(written(z, W_O), off), product(z, W_O, null, off));
  }
  assert.deepEqual(product(z, W_O, [10, 20], [0, 1]), [[10, 20]]);
});

test("negative parts hang below zero", () => {
  assert.deepEqual(stacked([1, -2, -3]), [
    { from: 0, to: 1 },
    { from: 0, to: -2 },
    { from: -2, to: -5 },
  ]);
});

test("a scale without extent has a tick", () => {
  assert.deepEqual(ticks(0, 0), [0]);
});

test("a bar that ends just below a round number has it beside it", () => {
  assert.equal(ticks(0, 0.999).at(-1), 1);
  assert.equal(ticks(-0.999, 0)[0], -1);
  assert.equal(ticks(0, 1).at(-1), 1);
  assert.equal(ticks(0, 1.1).at(-1), 1);
});

test("numbers lie flat below the bars, names need room", () => {
  assert.equal(roomFor(["0", "47"]), 0);
  assert.equal(roomFor(["0", "slow cos"]), 64);
  assert.equal(roomFor(["x", "אבגדה"]), 70);
});

test("sums and sentences are readable", () => {
  assert.equal(signed([-0.5, 0.25, -0.125]), "−0.500 + 0.250 − 0.125");
  assert.match(
    describe(["head 0", "head 1"], [1, -2], "cat", "living", [0]),
    /Coordinate living of y for “.cat.” is −2.000: head 0 is off, head 1 wrote −2.000\./,
  );
});
