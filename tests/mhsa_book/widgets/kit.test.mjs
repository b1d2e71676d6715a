// Numbers in words and colours, the parts every figure leans on.

import assert from "node:assert/strict";
import test from "node:test";

import { weightColour, weightInk } from "../../../mhsa_book/widgets/shared/colours.js";
import { bytes, clamp, fixed, short } from "../../../mhsa_book/widgets/shared/numbers.js";

test("a number keeps its decimals, a true minus sign, and no minus zero", () => {
  assert.equal(fixed(-1.005, 1), "−1.0");
  assert.equal(fixed(-0.001), "0.00");
  assert.equal(fixed(0.98765, 4), "0.9877");
});

test("what is no number is said", () => {
  assert.deepEqual(
    [NaN, Infinity, -Infinity].map((x) => fixed(x)),
    ["NaN", "∞", "−∞"],
  );
});

test("counts are exact below ten thousand and short above", () => {
  assert.deepEqual([0, 9_999, 10_000, 2_359_296].map(short), ["0", "9999", "10 k", "2.36 M"]);
});

test("bytes arrive as base64 and as a view into a larger buffer", () => {
  assert.deepEqual([...bytes("AQID")], [1, 2, 3]);
  const buffer = Uint8Array.from([9, 1, 2, 3, 9]).buffer;
  assert.deepEqual([...bytes(new DataView(buffer, 1, 3))], [1, 2, 3]);
});

test("colours run from nothing to everything and never leave the scale", () => {
  assert.equal(weightColour(0), "rgb(240,251,255)");
  assert.equal(weightColour(1), "rgb(29,34,61)");
  assert.equal(weightColour(-3), weightColour(0));
  assert.equal(weightColour(7), weightColour(1));
  assert.equal(clamp(5, 1, 3), 3);
});

/** Relative luminance and contrast as WCAG 2 defines them. */
function contrast(a, b) {
  const light = (rgb) =>
    rgb
      .map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}

test("words on every weight can be read", () => {
  const ink = { "#fff": [255, 255, 255], "#000": [0, 0, 0] };
  for (let i = 0; i <= 100; i += 1) {
    const paper = weightColour(i / 100)
      .match(/\d+/g)
      .map(Number);
    assert.ok(contrast(paper, ink[weightInk(i / 100)]) >= 4.5, `weight ${i / 100}`);
  }
});
