// Where a number comes from, in words, and the steps that make it.

import assert from "node:assert/strict";
import test from "node:test";

import { decimals, numeral } from "../../../mhsa_book/widgets/shared/places.js";
import { forward } from "../../../mhsa_book/widgets/stage_stepper/forward.js";
import { denseMask, maskName } from "../../../mhsa_book/widgets/stage_stepper/masks.js";
import {
  ancestors,
  arithmetic,
  parents,
} from "../../../mhsa_book/widgets/stage_stepper/provenance.js";
import { STEPS, before, makes, uses } from "../../../mhsa_book/widgets/stage_stepper/steps.js";
import { typedNumber } from "../../../mhsa_book/widgets/stage_stepper/typed.js";

const eye = [
  [1, 0],
  [0, 1],
];
const small = {
  x: [
    [1, 2],
    [3, -4],
  ],
  W_Q: eye,
  W_K: eye,
  W_V: eye,
  W_O: eye,
  mask: denseMask("causal", 2),
  n_heads: 2,
};

test("one token's own value passes through identity matrices", () => {
  const wires = forward(small);
  assert.deepEqual(wires.weights[0][0], [1, 0]);
  assert.deepEqual(wires.y[0], [1, 2]);
  assert.deepEqual(wires.masked[1][0], [4, -Infinity]);
});

test("a number of concat is one number of z, and no head sees another", () => {
  const wires = forward(small);
  assert.deepEqual(parents(["concat", 1, 1], wires), [["z", 1, 1, 0]]);
  const heads = ancestors(["z", 1, 1, 0], wires)
    .filter(([wire]) => wire === "scores")
    .map(([, h]) => h);
  assert.deepEqual(new Set(heads), new Set([1]));
  assert.deepEqual(parents(["x", 0, 0], wires), []);
});

test("a masked softmax says why it is zero", () => {
  const wires = forward(small);
  assert.equal(
    arithmetic(["weights", 0, 0, 1], wires),
    "weights[0, 0, 1] = exp(−∞) / (exp(1.00) + exp(−∞)) = 0.00, since exp(−∞) = 0.",
  );
  assert.equal(
    arithmetic(["masked", 0, 0, 1], wires),
    "masked[0, 0, 1] = −∞: query 0 may not look at key 1.",
  );
});

test("numbers show two to four decimals, powers of ten where these do not fit", () => {
  assert.equal(decimals([1, 0.25, 0.125]), 3);
  assert.deepEqual(
    [0, 1 / 3, -1e-17, 1e-7, -12345678, -Infinity].map((v) => numeral(v)),
    ["0.00", "0.3333", "0.00", "1.00e−7", "−1.23e7", "−∞"],
  );
});

test("what is typed is a number in range, or the reason why not", () => {
  assert.deepEqual(typedNumber(" −1,5 ", 100), { value: -1.5 });
  assert.deepEqual(typedNumber("100", 100), { value: 100 });
  for (const text of ["", "-", "1 2", "Infinity", "101", "0x", "NaN"])
    assert.ok(typedNumber(text, 100).wrong, text);
});

test("every step uses what earlier steps have made, or an input", () => {
  const known = new Set(["x", "W_Q", "W_K", "W_V", "W_O", "mask"]);
  STEPS.forEach((step, i) => {
    const fresh = makes(step);
    assert.ok(
      uses(step)
        .filter((wire) => !fresh.includes(wire))
        .every((wire) => known.has(wire)),
      step.step,
    );
    assert.ok(before(i).every((wire) => known.has(wire) && !uses(step).includes(wire)));
    fresh.forEach((wire) => known.add(wire));
  });
});

test("a mask is known by its name", () => {
  assert.deepEqual(
    ["none", "causal"].map((name) => maskName(denseMask(name, 3))),
    ["none", "causal"],
  );
  assert.equal(
    maskName([
      [true, false],
      [false, true],
    ]),
    "my own",
  );
});
