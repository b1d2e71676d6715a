// @ts-check
// What composing does to a pair and to all rows, in words.

import { fixed } from "../shared/numbers.js";
import { quoted } from "../shared/tokens.js";
import { countNegative, sumsOf } from "./composing.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Strengths } from "./composing.js" */

/** Whether nothing is added. @type {(strengths: Strengths) => boolean} */
export const isPlain = (strengths) => Object.values(strengths).every((strength) => strength === 0);

/** @type {(query: string, key: string) => string} */
export const pairWords = (query, key) => `${quoted(query)} looks at ${quoted(key)}`;

/** @type {(numbers: number[]) => string} */
const listed = (numbers) => `(${numbers.map((number) => fixed(number)).join(", ")})`;

/** @type {(weights: Matrix[], composed: Matrix[]) => string} */
export function rowsInWords(weights, composed) {
  const { negative, all } = countNegative(weights, composed);
  const sums = composed.flatMap(sumsOf);
  const [least, most] = [Math.min(...sums), Math.max(...sums)].map((sum) => fixed(sum));
  const range = least === most ? `every row sums to ${least}` : `rows sum to ${least} … ${most}`;
  return `Negative weights: ${negative} of ${all}; ${range}.`;
}

/** @type {(pair: string, a: number[], after: number[]) => string} */
export const pairInWords = (pair, a, after) => `${pair}: ${listed(a)} becomes ${listed(after)}.`;
