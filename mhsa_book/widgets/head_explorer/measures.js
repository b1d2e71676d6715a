// @ts-check
// Numbers about attention weights, as mhsa_book.measure has them. Weights lie flat, head after
// head, row after row: `shape` is [layers, heads, queries, keys].

import { quoted } from "../shared/tokens.js";

/** Weights of heads, flat. @typedef {ArrayLike<number>} Weights */
/** The measures of a head, by name. @typedef {Record<string, number>} Measures */
/** Measures by head. @typedef {(head: number) => Measures} MeasuresOf */
/** A token and its position in the text. @typedef {{ at: number, token: string }} Token */

/** What a head is measured by, and what that says. @type {Record<string, string>} */
export const MEASURES = {
  entropy: "how spread its weights are, in nats",
  distance: "mean distance to what it looks at, in tokens",
  previous: "mean weight on the token before",
  own: "mean weight on the own token",
  next: "mean weight on the token after",
  first: "mean weight on the first key",
  confidence: "mean of each query's largest weight",
};

/**
 * What the order of the heads goes by, in a sentence.
 * @type {(name: string, key: string) => string}
 */
export function orderWords(name, key) {
  if (!(name in MEASURES)) return "As the model has them: rows are layers, columns are heads.";
  return `Largest first: ${MEASURES[name]}${name === "first" ? `, here ${quoted(key)}` : ""}.`;
}

/**
 * 16-bit numbers, low byte first, as weights: 65535 is 1, and only exactly 0 is 0.
 * @type {(data: Uint8Array) => Float64Array}
 */
export function unpack(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const weights = new Float64Array(data.byteLength / 2);
  for (let i = 0; i < weights.length; i += 1) weights[i] = view.getUint16(2 * i, true) / 65535;
  return weights;
}

/**
 * Every measure of the head whose first weight lies at `from`; NaN where there is nothing to
 * measure. Positions count from the end, as queries are the last positions of the keys.
 * @type {(weights: Weights, from: number, queries: number, keys: number) => Measures}
 */
export function measure(weights, from, queries, keys) {
  const diagonal = [0, 0, 0]; // previous, own, next
  const pairs = [0, 0, 0];
  let [entropy, distance, first, confidence] = [0, 0, 0, 0];
  for (let query = 0; query < queries; query += 1) {
    const row = from + query * keys;
    const own = query + keys - queries;
    let largest = 0;
    for (let key = 0; key < keys; key += 1) {
      const weight = weights[row + key];
      if (weight > 0) entropy -= weight * Math.log(weight);
      if (weight > largest) largest = weight;
      distance += weight * Math.abs(key - own);
    }
    confidence += largest;
    first += weights[row];
    for (let side = 0; side < 3; side += 1) {
      const key = own + side - 1;
      if (key < 0 || key >= keys) continue;
      diagonal[side] += weights[row + key];
      pairs[side] += 1;
    }
  }
  const [previous, own, next] = diagonal.map((sum, side) => sum / pairs[side]);
  /** @type {(sum: number) => number} */
  const mean = (sum) => sum / queries;
  return {
    entropy: mean(entropy),
    distance: mean(distance),
    previous,
    own,
    next,
    first: mean(first),
    confidence: mean(confidence),
  };
}

/**
 * Measures by head, taken when they are asked for.
 * @type {(weights: Weights, queries: number, keys: number) => MeasuresOf}
 */
export function measuring(weights, queries, keys) {
  /** @type {Measures[]} */
  const known = [];
  return (head) => (known[head] ??= measure(weights, head * queries * keys, queries, keys));
}

/**
 * How alike two heads look: 1 for the same rows, 0 for rows without a common key.
 * @type {(weights: Weights, one: number, other: number, queries: number, keys: number) => number}
 */
export function agreement(weights, one, other, queries, keys) {
  /** @type {(w: number) => number} */
  const part = (w) => (w > 0 ? -w * Math.log2(w) : 0);
  const [a, b] = [one * queries * keys, other * queries * keys];
  let divergence = 0;
  for (let i = 0; i < queries * keys; i += 1) {
    const [p, q] = [weights[a + i], weights[b + i]];
    divergence += part((p + q) / 2) - (part(p) + part(q)) / 2;
  }
  return 1 - divergence / queries;
}
