// Masks as drawings, painting, and the words about them.

import assert from "node:assert/strict";
import test from "node:test";

import {
  countAllowed,
  emptyRows,
  inForm,
  inverted,
  maskOf,
  paintedOver,
} from "../../../mhsa_book/widgets/mask_lab/rules.js";
import {
  answered,
  described,
  leaking,
  swapped,
} from "../../../mhsa_book/widgets/mask_lab/words.js";

const drawing = (mask) => mask.map((row) => row.map((may) => (may ? "■" : "·")).join(""));

test("a window of two counts the own token", () => {
  assert.deepEqual(drawing(maskOf("sliding window", 2, [], 4)), ["■···", "■■··", "·■■·", "··■■"]);
});

test("padding leaves padded queries nothing, key padding does not", () => {
  assert.deepEqual(emptyRows(maskOf("padding", 1, [], 3)), [1, 2]);
  assert.deepEqual(emptyRows(maskOf("key padding", 1, [], 3)), []);
});

test("painting changes the named pairs of a copy", () => {
  const before = maskOf("causal", 1, [], 3);
  const after = paintedOver(
    before,
    [
      [0, 2],
      [1, 0],
    ],
    true,
  );
  assert.deepEqual(drawing(after), ["■·■", "■■·", "■■■"]);
  assert.equal(countAllowed(before), 6);
  assert.equal(maskOf("your own", 9, after, 3), after);
});

test("a mask as a reader copies it", () => {
  assert.equal(inForm("boolean", [[true, false]]).text, "torch.tensor([\n    [ True, False],\n])");
  assert.match(inForm("additive", [[true, false]]).text, /\[ {2}0\., -inf\]/);
  assert.deepEqual(inForm("additive", [[true, false]]).words, [["0", "−∞"]]);
});

test("the words name empty rows, and what each mistake does", () => {
  const tokens = ["I", "saw", "it"];
  assert.equal(
    described("causal", maskOf("causal", 1, [], 3), tokens),
    "Mask causal: 6 of 9 pairs may look. Every query has a key.",
  );
  assert.match(
    described("padding", maskOf("padding", 1, [], 3), tokens),
    /“saw”, “it” look at nothing/,
  );
  assert.match(described("padding", maskOf("padding", 2, [], 3), tokens), /“it” looks at nothing/);
  assert.match(swapped(inverted(maskOf("causal", 1, [], 3))), /1 of 3 queries is left/);
  assert.match(swapped(inverted(maskOf("none", 1, [], 3))), /no query is left with anything/);
  assert.match(leaking([[0.25, 0.75]], [[true, false]]), /75 % of the weight/);
  assert.equal(answered("equal", 6), "all 1/6, forbidden keys too");
});
