// Heads that are off as bits, what a case holds, and arcs between words of one line or of two.

import assert from "node:assert/strict";
import test from "node:test";

import {
  before,
  caseOf,
  chancesOf,
  decoded,
  switched,
  weightsOf,
} from "../../../mhsa_book/widgets/nine_heads/cases.js";
import { arcBetween } from "../../../mhsa_book/widgets/nine_heads/sentence.js";
import { gives, outcome, percent, points } from "../../../mhsa_book/widgets/nine_heads/words.js";

const packed = (numbers) => Buffer.from(Uint8Array.from(numbers)).toString("base64");
// Two heads, the second in a lower layer; two tokens, one word: four cases.
const small = decoded({
  heads: [
    [3, 0],
    [1, 2],
  ],
  tokens: ["I", "saw"],
  words: ["it"],
  chances: packed([255, 255, 0, 128, 0, 0, 255, 0]),
  rows: packed([255, 0, 0, 255, 51, 204]),
  maps: packed([255, 255, 0, 255, 51, 204]),
});

test("bits of a case", () => {
  assert.equal(caseOf([]), 0);
  assert.equal(caseOf([0, 2]), 5);
  assert.deepEqual(switched([2, 5], 3), [2, 3, 5]);
  assert.deepEqual(switched([2, 5], 5), [2]);
});

test("chances come low byte first, and with all other words at the end", () => {
  assert.deepEqual(chancesOf(small, []), [1, 0]);
  assert.deepEqual(
    chancesOf(small, [0]).map((p) => p.toFixed(4)),
    ["0.5000", "0.5000"],
  );
  assert.deepEqual(chancesOf(small, [0, 1]), [255 / 65535, 1 - 255 / 65535]);
});

test("only a head of a lower layer changes where the last word attends", () => {
  assert.deepEqual(before(small.heads, 0), [1]);
  assert.deepEqual(before(small.heads, 1), []);
  assert.deepEqual(weightsOf(small, 0, [], 1), [1, 0]);
  assert.deepEqual(weightsOf(small, 0, [0], 1), [1, 0]);
  assert.deepEqual(weightsOf(small, 0, [1], 1), [0, 1]);
  assert.deepEqual(weightsOf(small, 1, [0], 1), [0.2, 0.8]);
  assert.deepEqual(weightsOf(small, 1, [0, 1], 0), [1]);
});

test("numbers in words", () => {
  const all = [0, 0.0001, 0.0021, 0.0095, 0.917, 0.9949, 1].map(percent);
  const wanted = ["0 %", "< 0.1 %", "0.2 %", "1 %", "92 %", "99.5 %", "100 %"];
  assert.deepEqual(
    all,
    wanted.map((text) => text.replaceAll(" ", "\u00a0")),
  );
  assert.deepEqual([0.064, -0.0077, 0, -0.00001].map(points), ["+6", "−0.8", "0.0", "0.0"]);
});

test("the likelier name comes first", () => {
  const told = (...chances) =>
    outcome(["Mary", "John"], chances, [3], 270).replaceAll("\u00a0", " ");
  assert.equal(told(0.3, 0.6), "One of 270 heads off: John 60 %, Mary 30 %.");
  assert.equal(told(0.6, 0.3), "One of 270 heads off: Mary 60 %, John 30 %.");
});

test("a word is told nothing by one that comes later", () => {
  const tokens = ["I", "saw", "it"];
  assert.match(gives(tokens, [0.5, 0.5], "L0H0", 1, 2), /“it” comes later than “saw”/);
  assert.match(gives(tokens, [0.5, 0.5], "L0H0", 1, 1), /“saw” gives itself 50/);
});

test("an arc begins and ends at its words, in one line and from one line to the next", () => {
  const spot = (x, top) => ({ x, top, bottom: top + 20 });
  const ends = (path) => {
    const numbers = path.match(/[-.\d]+/g).map(Number);
    return [numbers.slice(0, 2), numbers.slice(-2)];
  };
  assert.deepEqual(ends(arcBetween(spot(200, 90), spot(40, 90), 50)), [
    [200, 90],
    [40, 90],
  ]);
  const up = arcBetween(spot(200, 90), spot(40, 10), 50);
  assert.deepEqual(ends(up), [
    [200, 90],
    [40, 30],
  ]);
  // Between the two lines it covers no word.
  const heights = up
    .match(/[-.\d]+/g)
    .map(Number)
    .filter((_, i) => i % 2);
  assert.ok(Math.min(...heights) >= 30 && Math.max(...heights) <= 90);
  // The highest point of a long arc lies within the room above its line.
  const long = arcBetween(spot(600, 90), spot(10, 90), 60)
    .match(/[-.\d]+/g)
    .map(Number);
  assert.ok(0.75 * (90 - long[3]) <= 60.001);
});
