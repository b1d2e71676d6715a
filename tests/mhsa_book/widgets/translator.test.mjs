// The parts of the translator's page, as alone as they can be: no Python, no browser.

import assert from "node:assert/strict";
import test from "node:test";

import { compared } from "../../../mhsa_book/widgets/translator_lab/compare.js";
import { read, wordsOf } from "../../../mhsa_book/widgets/translator_lab/rules.js";
import { alignedOf, sides } from "../../../mhsa_book/widgets/translator_lab/running.js";
import { drawnSlots, slotsOf } from "../../../mhsa_book/widgets/translator_lab/slots.js";
import { judged } from "../../../mhsa_book/widgets/translator_lab/strip.js";
import { describe, verdict } from "../../../mhsa_book/widgets/translator_lab/words.js";

const tables = {
  plain: { mabo: "kelu", tino: "shoru" },
  ambiguous: { balo: ["mirru", "dastu"] },
  wet: { rolan: "mel" },
  dry: { tekan: "krad" },
  adjectives: { meti: "nalesh" },
  numbers: { ip: 1, ot: 2, ul: 3 },
  joins: { ke: "mun" },
  greetings: { hai: "a", "hoila ren": "o" },
  lengths: [4, 12],
};

const shown = {
  source: ["rolan", "ot", "meti", "balo"],
  said: ["hai", "mirru", "dastu", "mela", "◁"],
  right: [
    { text: "hai", aligned: [] },
    { text: "mirru", aligned: [3] },
    { text: "mirru", aligned: [1, 3] },
    { text: "nalesh", aligned: [2] },
    { text: "mela", aligned: [0] },
    { text: "◁", aligned: [] },
  ],
  chances: [0.25, 1, 0.5, 0.75, 1],
  weights: { "cross L1H0": [1, 2, 3, 4, 5].map(() => [0.1, 0.2, 0.3, 0.4]) },
  word: 2,
  head: "cross L1H0",
  off: ["cross L0H0"],
  instead: "mean",
  signs: { begin: "▷", end: "◁" },
};
shown.steps = compared(
  shown.said,
  shown.right.map(({ text }) => text),
);

test("the right word stands beside a wrong one, and its alignment in its row", () => {
  assert.deepEqual(
    judged(shown).map(({ kind }) => kind),
    ["right", "right", "wrong", "missing", "right", "right"],
  );
  assert.equal(judged(shown)[2].right, "mirru");
  assert.deepEqual(alignedOf(shown), [[], [3], [1, 3], [0], []]);
});

test("the figure says what is wrong and where a word looks", () => {
  assert.equal(verdict(shown), "1 wrong, 1 missing");
  assert.equal(
    describe(shown),
    "Without cross L0H0 (their mean instead), it says “hai mirru dastu mela”: 1 wrong, 1 missing."
      + " “dastu” has probability 0.50; there cross L1H0 looks at “balo” (0.40).",
  );
});

test("a head of the decoder sees the words before the one that is said", () => {
  const { rows, columns } = sides({ ...shown, head: "decoder L0H0" });
  assert.deepEqual(rows, shown.said);
  assert.deepEqual(columns, ["▷", "hai", "mirru", "dastu", "mela"]);
});

test("every choice of a menu makes the sentence that it names, known or not", () => {
  const start = "rolan ot meti balo";
  const slots = slotsOf(read(start, tables).sentence, tables);
  assert.deepEqual(
    slots.map(({ kind, value }) => [kind, value]),
    [
      ["verb", "rolan"],
      ["number", "ot"],
      ["adjective", "meti"],
      ["noun", "balo"],
      ["number", ""],
      ["join", ""],
    ],
  );
  for (const { options, value, made, known } of slots) {
    assert.equal(made[options.indexOf(value)], start);
    made.forEach((text, i) => assert.equal(known[i], read(text, tables).problem === undefined));
  }
  assert.equal(slots[2].made[0], "rolan ot balo"); // three words: the model does not know it
  assert.equal(slots[2].known[0], false);
  assert.equal(slots[4].made[1], "rolan ot meti balo ip mabo");
  assert.equal(slots[5].made[1], "rolan ot meti balo ke rolan ip mabo");
});

test("a phrase and a clause can be taken away again", () => {
  const { sentence } = read("rolan ot meti balo ip mabo ke tekan ip tino", tables);
  const slots = slotsOf(sentence, tables);
  const take = (label) => slots.find((one) => one.label === label).made[0];
  assert.equal(take("first clause, second phrase: number"), "rolan ot meti balo ke tekan ip tino");
  assert.equal(take("between two clauses: join"), "rolan ot meti balo ip mabo");
});

test("drawn sentences are known and differ", () => {
  const texts = Array.from({ length: 100 }, () => drawnSlots(tables));
  for (const text of texts) assert.equal(wordsOf(read(text, tables).sentence).join(" "), text);
  assert.ok(new Set(texts).size > 50);
});
