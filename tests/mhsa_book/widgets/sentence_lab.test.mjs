// Where words look, what that writes into them, and the sentence that says it.

import assert from "node:assert/strict";
import test from "node:test";

import { attended, most, summed } from "../../../mhsa_book/widgets/sentence_lab/attended.js";
import { answer, question } from "../../../mhsa_book/widgets/sentence_lab/question_and_answer.js";

const one = [
  [1, 0],
  [0, 1],
];

test("two heads of one column: weights are softmax rows, parts are rows of W_O", () => {
  const heads = attended(one, { W_Q: one, W_K: one, W_V: one, W_O: one }, 2);
  const e = Math.E;
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
  near(heads[0].weights[0][0], e / (1 + e));
  near(heads[0].weights[1][0], 0.5);
  near(heads[0].part[0][0], e / (1 + e));
  assert.deepEqual(heads[0].part[0][1], 0); // its row of W_O writes the first column only
  near(summed(heads, [])[0][1], 0.5);
  assert.equal(summed(heads, [1])[0][1], 0);
});

test("the word that is looked at most", () => assert.equal(most([0.2, 0.7, 0.1]), 1));

const names = ["living", "place"];
/** @type {(at: number, row: number[]) => object} */
const head = (at, row) => ({
  weights: [0, 1, 2].map((k) => [0, 1, 2].map((w) => (w === at ? 1 : 0) + 0 * k)),
  part: [row, row, row],
});
const words = ["dog", "left", "hungry"];

test("the answer names what the numbers say", () => {
  const nothing = head(0, [0, 0]);
  const told = (meant, doer, w, off = []) =>
    answer({ words, heads: [meant, nothing, doer] }, names, w, off);
  assert.deepEqual(told(head(0, [1, 0]), nothing, 2), {
    text: "“hungry” belongs to something living: “dog”.",
    at: 0,
  });
  assert.match(told(head(1, [0, 0.9]), nothing, 2).text, /belongs to a place: “left”/);
  assert.match(told(head(0, [1, 0]), nothing, 0).text, /“dog” finds itself: something living/);
  assert.match(told(nothing, head(0, [1, 0]), 1).text, /“left” learns who did it: “dog”/);
  assert.match(told(head(0, [0.4, 0.4]), nothing, 2).text, /belongs to no other word/);
  assert.deepEqual(told(head(0, [1, 0]), nothing, 2, [0]), {
    text: "Nobody tells “hungry” what it belongs to.",
    at: -1,
  });
});

test("the last word has a question of its own", () => {
  assert.equal(question(words, 2), "What does “hungry” belong to?");
  assert.equal(question(words, 0), "Where does “dog” look?");
});
