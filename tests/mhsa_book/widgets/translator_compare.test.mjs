// A translation beside the right one: the fewest mistakes, and where they are.

import assert from "node:assert/strict";
import test from "node:test";

import { compared } from "../../../mhsa_book/widgets/translator_lab/compare.js";

const kinds = (said, right) =>
  compared(said.split(""), right.split("")).map(({ said, right, wrong }) => [
    said === null ? "-" : said,
    right === null ? "-" : right,
    wrong ? "✗" : "✓",
  ]);

test("a word too few, too many or other than the right one is found where it is", () => {
  assert.deepEqual(
    kinds("abc", "abc").map((one) => one.join("")),
    ["00✓", "11✓", "22✓"],
  );
  assert.deepEqual(
    kinds("axc", "abc").map((one) => one.join("")),
    ["00✓", "11✗", "22✓"],
  );
  assert.deepEqual(
    kinds("ac", "abc").map((one) => one.join("")),
    ["00✓", "-1✗", "12✓"],
  );
  assert.deepEqual(
    kinds("abbc", "abc").map((one) => one.join("")),
    ["00✓", "11✓", "2-✗", "32✓"],
  );
  assert.deepEqual(
    kinds("", "ab").map((one) => one.join("")),
    ["-0✗", "-1✗"],
  );
});

test("never more mistakes are counted than there are", () => {
  const fewest = (a, b) => {
    if (!a || !b) return a.length + b.length;
    const swap = fewest(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1);
    return Math.min(swap, fewest(a.slice(1), b) + 1, fewest(a, b.slice(1)) + 1);
  };
  const texts = ["", "a", "ab", "ba", "aab", "abab", "bbaab", "babba"];
  for (const one of texts) {
    for (const other of texts) {
      const wrong = kinds(one, other).filter(([, , mark]) => mark === "✗").length;
      assert.equal(wrong, fewest(one, other), `${one} ${other}`);
    }
  }
});
