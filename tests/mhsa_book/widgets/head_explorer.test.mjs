import assert from "node:assert/strict";
import test from "node:test";

import {
  fitting,
  kept,
  pick,
  ranked,
  strongest,
} from "../../../mhsa_book/widgets/head_explorer/head_filters.js";
import { csv } from "../../../mhsa_book/widgets/head_explorer/downloads.js";
import { layout } from "../../../mhsa_book/widgets/head_explorer/layout.js";
import { measure, measuring, unpack } from "../../../mhsa_book/widgets/head_explorer/measures.js";
import {
  differenceColour,
  palette,
} from "../../../mhsa_book/widgets/head_explorer/weight_pixels.js";
import { sentence } from "../../../mhsa_book/widgets/head_explorer/words.js";
import { isSpecial, quoted, spelled } from "../../../mhsa_book/widgets/shared/tokens.js";

const PREVIOUS = [1, 0, 0, 1, 0, 0, 0, 1, 0]; // each token looks at the one before

test("a previous-token head is measured as one", () => {
  const found = measure(PREVIOUS, 0, 3, 3);
  assert.deepEqual(found, {
    entropy: 0,
    distance: 2 / 3,
    previous: 1,
    own: 1 / 3,
    next: 0,
    first: 2 / 3,
    confidence: 1,
  });
});

test("one token has no previous one", () => {
  const { previous, own, next } = measure([1], 0, 1, 1);
  assert.deepEqual([previous, own, next], [NaN, 1, NaN]);
});

test("a head is measured once, when it is asked for", () => {
  const weights = [...PREVIOUS, 1, 0, 0, 0, 1, 0, 0, 0, 1];
  const measuresOf = measuring(weights, 3, 3);
  assert.equal(measuresOf(1).own, 1);
  assert.equal(measuresOf(1), measuresOf(1));
  assert.deepEqual(ranked(2, measuresOf, "own"), [1, 0]);
  assert.deepEqual(ranked(2, measuresOf, "layer"), [0, 1]);
});

test("two bytes are a weight, the low byte first", () => {
  assert.deepEqual([...unpack(Uint8Array.of(255, 255, 0, 0, 1, 0))], [1, 0, 1 / 65535]);
});

test("hiding a token takes its row and its column, and divides what is left", () => {
  const weights = [0.5, 0.25, 0.25, 0, 0.5, 0.5, 1, 0, 0];
  const places = kept(["[CLS]", "a", "b"], ["[CLS]"]);
  assert.deepEqual(places, [1, 2]);
  assert.deepEqual([...pick(weights, [1, 1, 3, 3], places, places)], [0.5, 0.5, 0, 0]);
  assert.deepEqual([...pick(weights, [1, 1, 3, 3], [0], places, true)], [0.5, 0.5]);
});

test("an empty row stays empty when rows are divided", () => {
  assert.deepEqual([...pick([0, 0], [1, 1, 1, 2], [0], [0, 1], true)], [0, 0]);
});

test("the strongest come first and what rounds to nothing is left out", () => {
  assert.deepEqual(strongest([0.1, 0, 0.7, 0.00001, 0.2], 2), [
    { weight: 0.7, place: 2 },
    { weight: 0.2, place: 4 },
  ]);
  assert.equal(strongest([0.00001, 1], 5).length, 1);
});

test("no distance is measured to the tokens of another text", () => {
  assert.deepEqual(fitting({ tokens: ["ich"], keys: ["I"] }), ["entropy", "first", "confidence"]);
  assert.equal(fitting({ tokens: ["c"], keys: ["a", "b", "c"] }).length, 7);
});

test("a file for spreadsheets has no formula in it", () => {
  const heads = [{ layer: 0, head: 1, weights: [0.25] }];
  const [, line] = csv(
    heads,
    [{ at: 3, token: '=HYPERLINK("x")' }],
    [{ at: 4, token: "a,b" }],
  ).split("\r\n");
  assert.equal(line, '0,1,3,4,"\'=HYPERLINK(""x"")","a,b",0.25');
});

test("any token can be drawn", () => {
  assert.equal(spelled(""), "(empty)");
  assert.equal(spelled("\u0000\n"), "␀␊");
  assert.equal(spelled("  "), "␣␣");
  assert.equal(spelled("w".repeat(1000)), `${"w".repeat(13)}…`);
  assert.equal(spelled("👩‍👩‍👧‍👦".repeat(14)), "👩‍👩‍👧‍👦".repeat(14)); // fourteen letters, not 154
  assert.equal(quoted("\u202eabc"), "“\u2068\u202eabc\u2069”");
});

test("special tokens are told from words", () => {
  assert.deepEqual(
    ["[CLS]", "[PAD]", "<s>", "</s>", "<|endoftext|>"].filter((t) => !isSpecial(t)),
    [],
  );
  assert.deepEqual(["cls", "[", "a[1]", "<img src=x>", "<"].filter(isSpecial), []);
});

test("a sentence tells small from zero and from nothing at all", () => {
  assert.match(sentence(0.00001, "a", "b", 1, "what is left"), /0\.0000 of what is left/);
  assert.match(sentence(0, "a", "b", 1, "all"), /exactly 0/);
  assert.match(sentence(0, "a", "b", 0, "all"), /looks at nothing/);
});

test("a heat map fits its room, and a cell never vanishes", () => {
  const box = layout(400, 16, 16, 60, 60, false);
  assert.ok(box.width <= 400);
  assert.equal(box.height - box.top - 2, 16 * box.cell);
  assert.equal(layout(100, 500, 500, 60, 60, false).cell, 4);
  assert.equal(layout(0, 1, 1, 10, 10, true).right, 102); // not yet on the page
});

test("colours: opaque pixels, and a difference of nothing is white", () => {
  assert.equal(palette(() => "rgb(1,2,3)")[255] >>> 0, 0xff030201);
  assert.equal(differenceColour(0), "rgb(255,255,255)");
  assert.notEqual(differenceColour(0.5), differenceColour(-0.5));
});
