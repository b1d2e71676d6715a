// @ts-check
// What the figure says of the heads that are off, of a head, and of a word.

import { fixed } from "../shared/numbers.js";

/** "no", "one" … @type {(n: number) => string} */
const spelled = (n) => "no one two three four five six seven eight nine".split(" ")[n];

/**
 * A chance or a weight; small ones, and those near 1, with a decimal.
 * @type {(p: number) => string}
 */
export function percent(p) {
  if (p > 0 && p < 0.0005) return "<\u00a00.1\u00a0%";
  return `${fixed(100 * p, (p > 0 && p < 0.0095) || (p > 0.9945 && p < 1) ? 1 : 0)}\u00a0%`;
}

/** Points that a chance moves, with a sign. @type {(change: number) => string} */
export function points(change) {
  const decimals = Math.abs(change) < 0.0095 ? 1 : 0;
  return change > 0 ? `+${fixed(100 * change, decimals)}` : fixed(100 * change, decimals);
}

/** @type {(head: number[]) => string} */
export const nameOf = ([layer, head]) => `L${layer}H${head}`;

/**
 * What the model says while some heads are off: the first two words, the likelier one first.
 * @type {(words: string[], chances: number[], off: number[], of: number) => string}
 */
export function outcome(words, chances, off, of) {
  const [first, second] = chances[0] >= chances[1] ? [0, 1] : [1, 0];
  const which =
    off.length === 0
      ? "Every head on"
      : `${spelled(off.length)[0].toUpperCase()}${spelled(off.length).slice(1)} of ${of} heads off`;
  const [one, other] = [first, second].map((w) => `${words[w]} ${percent(chances[w])}`);
  return `${which}: ${one}, ${other}.`;
}

/**
 * Where a word attends in a head, in words.
 * @type {(tokens: string[], row: number[], name: string, query: number) => string}
 */
export function attends(tokens, row, name, query) {
  const best = row.indexOf(Math.max(...row));
  const where = best === query ? "itself" : `“${tokens[best]}”`;
  return `In head ${name}, “${tokens[query]}” attends most to ${where}: ${percent(row[best])}.`;
}

/**
 * What one word receives of the weight of another.
 * @type {(tokens: string[], row: number[], name: string, query: number, key: number) => string}
 */
export function gives(tokens, row, name, query, key) {
  const [asks, other] = [tokens[query], tokens[key]].map((word) => `“${word}”`);
  if (key > query)
    return `${other} comes later than ${asks}: a word attends only to what it knows.`;
  const whom = key === query ? "itself" : other;
  return `In head ${name}, ${asks} gives ${whom} ${percent(row[key])} of its weight.`;
}

/**
 * What switching one head would make of the first two words.
 * @type {(words: string[], would: number[], name: string, off: boolean) => string}
 */
export function once(words, would, name, off) {
  const [one, other] = [0, 1].map((w) => `${words[w]} ${percent(would[w])}`);
  return `${off ? `Switch ${name} on again` : `Without ${name}`}: ${one}, ${other}.`;
}

/** What is said at the heads while a bar is in sight. @type {(word: string) => string} */
export const moves = (word) =>
  `At each head: by how many percentage points its switch moves ${word}.`;
