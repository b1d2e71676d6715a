import assert from "node:assert/strict";
import test from "node:test";

import { agrees, hint, understood } from "../../../mhsa_book/widgets/predict/answers.js";

test("a shape may be pasted as torch prints it", () => {
  assert.deepEqual(understood("torch.Size([6, 12])", [1]), { given: [6, 12] });
});

test("a word is no shape, and is quoted", () => {
  assert.match(understood("six", [1]).problem, /“six” cannot be read/);
});

test("whole numbers are exact, others may be 1 % off", () => {
  assert.equal(agrees(1023, 1024), false);
  assert.equal(agrees(0.33, 1 / 3), true);
  assert.equal(agrees("refuse", "refuse"), true);
});

test("a known mistake is named before any hint", () => {
  assert.equal(hint([12, 6], [6, 12], [[[12, 6], "Rows are tokens."]], []), "Rows are tokens.");
  assert.equal(hint([12, 6], [6, 12], [], []), "The sizes are right, their order is not.");
});
