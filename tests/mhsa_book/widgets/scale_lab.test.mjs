// Random vectors, their products and the softmax's saturation, in numbers that can be checked.

import assert from "node:assert/strict";
import test from "node:test";

import {
  randomVectors,
  normals,
  products,
} from "../../../mhsa_book/widgets/scale_lab/random_vectors.js";
import {
  axisFor,
  componentVariance,
  factor,
  histogram,
  measured,
  variance,
} from "../../../mhsa_book/widgets/scale_lab/saturation.js";
import { derivation, digits, verdict } from "../../../mhsa_book/widgets/scale_lab/words.js";

test("normal numbers have mean 0 and variance 1, and a seed decides them", () => {
  const numbers = Array.from(normals(3, 50_000));
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  assert.ok(Math.abs(mean) < 0.02);
  assert.ok(Math.abs(variance([numbers]) - 1) < 0.02);
  assert.notDeepEqual(normals(4, 5), normals(3, 5));
  assert.deepEqual(Array.from(normals(3, 5)), numbers.slice(0, 5));
});

test("products of several widths are those of each width alone", () => {
  const cast = randomVectors(1, 3, 16);
  const [narrow, wide] = products(cast, [2, 16]);
  const by_hand = (width) =>
    cast.queries[1].slice(0, width).reduce((sum, q, c) => sum + q * cast.keys[2][c], 0);
  assert.ok(Math.abs(narrow[1][2] - by_hand(2)) < 1e-12);
  assert.ok(Math.abs(wide[1][2] - by_hand(16)) < 1e-12);
  assert.notEqual(narrow[1][2], wide[1][2]);
});

test("the variance of components is that over all pairs", () => {
  const cast = {
    queries: [
      [1, 2],
      [3, 0],
    ],
    keys: [
      [1, 1],
      [-1, 2],
    ],
  };
  const all = [1, -1, 3, -3, 2, 4, 0, 0];
  assert.ok(
    Math.abs(
      componentVariance(cast, 2)
        - (() => {
          const square = all.reduce((s, x) => s + x * x, 0) / 8;
          const mean = all.reduce((s, x) => s + x, 0) / 8;
          return square - mean ** 2;
        })(),
    ) < 1e-12,
  );
});

test("one key taken and all keys equal are the two ends", () => {
  assert.deepEqual(measured([1, 0, 0, 0]), { bits: 0, share: 0, largest: 1, gradient: 0 });
  assert.deepEqual(measured([0.25, 0.25, 0.25, 0.25]), {
    bits: 2,
    share: 1,
    largest: 0.25,
    gradient: 1.5,
  });
  assert.match(verdict({ share: 0.1 }), /^Saturated/);
  assert.match(verdict({ share: 0.99 }), /^Flat/);
  assert.match(verdict({ share: 0.8 }), /^In between/);
  for (const share of [0.1, 0.8, 0.99]) {
    assert.doesNotMatch(verdict({ share }), /gradient/); // into W_Q it is longest when saturated
  }
});

test("the factors by name", () => {
  const at = (name) => factor(name, 64, 5);
  assert.deepEqual(["1", "1/sqrt(d_head)", "1/d_head", "1/temperature"].map(at), [
    1,
    1 / 8,
    1 / 64,
    1 / 5,
  ]);
});

test("an axis holds the spread, and a histogram cuts what lies outside", () => {
  assert.deepEqual([0.01, 1, 1.15, 8, 32].map(axisFor), [4, 4, 16, 64, 256]);
  assert.deepEqual(histogram([[-4, -0.1, 0, 3.9, 4, 100]], 4, 4), [1, 1, 1, 1]);
});

test("the derivation holds the current numbers", () => {
  const rows = derivation(64, 0.125, { component: 0.9, dots: 60, scores: 60 / 64 });
  assert.deepEqual(
    rows.map(([, derived]) => derived),
    [1, 64, 1, 1],
  );
  assert.match(rows[2][0].replaceAll("\u00a0", " "), /0\.125² · 64/);
});

test("three digits", () => {
  assert.deepEqual([0.0123456, 7.8125, 61.0673, 1042.68, -0.5].map(digits), [
    "0.0123",
    "7.81",
    "61.1",
    "1,043",
    "−0.5",
  ]);
});
