// @ts-check
// Seven rules that make the weights of a head from one row of scores.

import { dot, softmaxRow } from "../shared/tensor.js";

/** @typedef {"softmax" | "norm" | "clip" | "sigmoid" | "minus" | "sink" | "gate"} Rule */
/**
 * A row: scores of normed queries and keys, a factor on all, and the numbers of the rules.
 * @typedef {{ scores: number[], values: number[], removed: number[], factor: number,
 *   part: number, sink: number, gate: number }} Row
 */

export const RULES = /** @type {Rule[]} */ ([
  "softmax",
  "norm",
  "clip",
  "sigmoid",
  "minus",
  "sink",
  "gate",
]);

/** QK-clip brings the largest score down to this. */
export const TAU = 10;

/** The largest score that queries and keys of mean square 1 have in a head of 16 columns. */
export const HIGHEST = 4;

/** @type {(row: Row) => boolean[]} */
const present = ({ scores, removed }) => scores.map((_, k) => !removed.includes(k));

/** @type {(x: number) => number} */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** How QK-clip scales a head whose scores are these. @type {(scores: number[]) => number} */
function clipFactor(scores) {
  const largest = Math.max(...scores);
  return largest > TAU ? TAU / largest : 1;
}

/** Weights by rule and key; 0 for a removed key. @type {(row: Row) => Record<Rule, number[]>} */
export function weightsByRule(row) {
  const { scores, factor, part, sink } = row;
  const there = present(row);
  const loud = scores.map((score) => factor * score);
  const softmax = softmaxRow(loud, there);
  const clip = clipFactor(loud.filter((_, k) => there[k]));
  const bias = -Math.log(scores.length);
  const flat = softmaxRow(
    scores.map(() => 0),
    there,
  );
  return {
    softmax,
    norm: softmaxRow(scores, there),
    clip: softmaxRow(
      loud.map((score) => clip * score),
      there,
    ),
    sigmoid: loud.map((score, k) => (there[k] ? sigmoid(score + bias) : 0)),
    minus: softmax.map((weight, k) => weight - part * flat[k]),
    sink: softmaxRow([...loud, sink], [...there, true]).slice(0, -1),
    gate: softmax,
  };
}

/**
 * What the head hands over under a rule.
 * @type {(rule: Rule, weights: number[], row: Row) => number}
 */
export const handedOver = (rule, weights, { values, gate }) =>
  (rule === "gate" ? gate : 1) * dot(weights, values);

/**
 * Whether a rule gave the keys that are there before and after other weights.
 * @type {(before: number[], after: number[], both: boolean[]) => boolean}
 */
export const moved = (before, after, both) =>
  after.some((weight, k) => both[k] && Math.abs(weight - before[k]) > 1e-9);
