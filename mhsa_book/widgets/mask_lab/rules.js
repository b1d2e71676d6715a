// @ts-check
// Who may look at whom, as mhsa_lib.masks says, and the forms in which PyTorch wants to hear it.

import { upTo } from "../shared/numbers.js";
import { softmaxRow } from "../shared/tensor.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** Rows of queries; true = may look. @typedef {boolean[][]} Mask */
/** @typedef {[query: number, key: number]} Pair */
/**
 * What the cells say, and Python that makes the tensor.
 * @typedef {{ words: string[][], text: string }} Form
 */

const OWN = "your own";

/**
 * Each rule about two positions and its one number; true = may look.
 * @type {Record<string, (query: number, key: number, n: number) => boolean>}
 */
const RULES = {
  none: () => true,
  causal: (query, key) => query >= key,
  padding: (query, key, length) => key < length && query < length,
  "key padding": (_, key, length) => key < length,
  "causal and key padding": (query, key, length) => query >= key && key < length,
  prefix: (query, key, prefix) => key < prefix || query >= key,
  "sliding window": (query, key, window) => query >= key && query - key < window,
};

export const KINDS = [...Object.keys(RULES), OWN];

/**
 * What the one number of a rule counts; rules that are not named have none.
 * @type {Record<string, string>}
 */
export const COUNTS = {
  padding: "length",
  "key padding": "length",
  "causal and key padding": "length",
  prefix: "prefix",
  "sliding window": "window",
};

/**
 * The mask of a rule as rows of booleans; for a mask of the reader's own, what was painted.
 * @type {(kind: string, n: number, painted: Mask, size: number) => Mask}
 */
export function maskOf(kind, n, painted, size) {
  if (kind === OWN) return painted;
  const positions = upTo(size);
  return positions.map((query) => positions.map((key) => RULES[kind](query, key, n)));
}

/**
 * The same mask after all of `cells` ([query, key]) are set to one value.
 * @type {(mask: Mask, cells: Pair[], value: boolean) => Mask}
 */
export function paintedOver(mask, cells, value) {
  const rows = mask.map((row) => [...row]);
  for (const [query, key] of cells) rows[query][key] = value;
  return rows;
}

/** @type {(mask: Mask) => Mask} */
export const inverted = (mask) => mask.map((row) => row.map((may) => !may));

/** @type {(mask: Mask) => number[]} */
export const emptyRows = (mask) => mask.flatMap((row, query) => (row.some(Boolean) ? [] : [query]));

/** @type {(mask: Mask) => number} */
export const countAllowed = (mask) => mask.flat().filter(Boolean).length;

/**
 * Weights when a mask of 1 and 0 is added to the scores: nothing is forbidden, only nudged.
 * @type {(scores: Matrix, mask: Mask) => Matrix}
 */
export const nudged = (scores, mask) =>
  scores.map((row, query) => softmaxRow(row.map((score, key) => score + Number(mask[query][key]))));

/**
 * Mean over queries of the weight that lies where the mask forbids it.
 * @type {(weights: Matrix, mask: Mask) => number}
 */
export function leak(weights, mask) {
  const forbidden = weights.flatMap((row, query) => row.filter((_, key) => !mask[query][key]));
  return forbidden.reduce((sum, weight) => sum + weight, 0) / weights.length;
}

/**
 * A mask in each form: the words in its cells, and Python that makes the tensor.
 * @type {Record<string, (mask: Mask) => Form>}
 */
export const FORMS = {
  boolean: (mask) => {
    const words = mask.map((row) => row.map((may) => (may ? "True" : "False")));
    return { words, text: tensorOf(words) };
  },
  additive: (mask) => {
    const words = mask.map((row) => row.map((may) => (may ? "0" : "−∞")));
    const numbers = mask.map((row) => row.map((may) => (may ? "0." : "-inf")));
    return { words, text: `inf = torch.inf\n${tensorOf(numbers)}` };
  },
};

/**
 * A mask in one form, by name: what the cells say and the text to copy.
 * @type {(form: string, mask: Mask) => Form}
 */
export const inForm = (form, mask) => FORMS[form](mask);

/** @type {(words: string[][]) => string} */
function tensorOf(words) {
  const width = Math.max(...words.flat().map((word) => word.length));
  const rows = words.map((row) => `    [${row.map((word) => word.padStart(width)).join(", ")}],`);
  return ["torch.tensor([", ...rows, "])"].join("\n");
}
