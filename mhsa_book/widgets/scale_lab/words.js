// @ts-check
// What the softmax makes of the scores, in words and in lines of numbers.

import { grouped } from "../shared/numbers.js";
import { TOKENS } from "./random_vectors.js";
import { measured } from "./saturation.js";

/** @import { Measured } from "./saturation.js" */

/**
 * A number in three digits, a large one in whole thousands apart.
 * @type {(value: number) => string}
 */
export function digits(value) {
  if (Math.abs(value) >= 1000) return grouped(value);
  return `${Number(value.toPrecision(3))}`.replace("-", "−");
}

/**
 * The derivation of the variance, with the current numbers in it and what was measured.
 * @type {(d_head: number, a: number, found: { component: number, dots: number, scores: number }) =>
 *   [why: string, derived: number, measured: number][]}
 */
export function derivation(d_head, a, found) {
  const scores = a * a * d_head;
  const added = `${d_head}\u00a0·\u00a01`;
  return [
    ["One product qᵢ·kᵢ has mean 0 and variance 1\u00a0·\u00a01.", 1, found.component],
    [
      `q·k adds d_head of them; they are independent, so variances add: ${added}.`,
      d_head,
      found.dots,
    ],
    [`A factor counts squared: ${digits(a)}²\u00a0·\u00a0${d_head}.`, scores, found.scores],
    ["The spread of the scores is its root.", Math.sqrt(scores), Math.sqrt(found.scores)],
  ];
}

/**
 * In a few words, whether a query with this share of the largest entropy can choose.
 * Not whether W_Q learns: a gradient into the scores is multiplied by the factor once more.
 * @type {(found: { share: number }) => string}
 */
export function verdict({ share }) {
  if (share < 0.35) {
    return "Saturated: one key takes most of the weight; the weights answer less to the scores.";
  }
  if (share > 0.97) return "Flat: each query nearly averages all keys; it hardly chooses.";
  return "In between: each query prefers some keys, and the weights answer to the scores.";
}

/**
 * What the softmax makes of one query's scores, and of all.
 * @type {(one: Measured, mean: Measured) => string[][]}
 */
export function measuredLines(one, mean) {
  const most = measured(new Array(TOKENS).fill(1 / TOKENS));
  /** @type {(name: string, words: (found: Measured) => string) => string[]} */
  const line = (name, words) => [name, words(one), words(mean)];
  return [
    line(`entropy, of at most ${most.bits} bits`, ({ bits }) => `${digits(bits)} bits`),
    line(`entropy as a share of log₂ ${TOKENS}`, ({ share }) => `${Math.round(100 * share)} %`),
    line("largest weight", ({ largest }) => largest.toFixed(3)),
    line(`gradient, of at most ${digits(most.gradient)}`, ({ gradient }) => gradient.toFixed(3)),
  ];
}
