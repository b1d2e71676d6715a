// @ts-check
// For each number of the pass the numbers it was made of, and how, written out.

import { closure, numberAt, numeral, placeName } from "../shared/places.js";
import { INPUTS } from "./forward.js";

/** @import { At } from "../shared/places.js" */
/** @import { Passed } from "./forward.js" */
/** Terms of a sum, each a product of places. @typedef {At[][]} Terms */
/** @typedef {(at: number[], wires: Passed) => Terms} Made */

/** @type {(a: string, b: "W_Q" | "W_K" | "W_V" | "W_O") => Made} */
const rowTimesColumn =
  (a, b) =>
  ([i, j], wires) =>
    wires[b].map((_, c) => [
      [a, i, c],
      [b, c, j],
    ]);

/** @type {(rows: string) => Made} */
const cut =
  (rows) =>
  ([h, i, j], { z }) => [[[rows, i, h * z[0][0].length + j]]];

/** @type {Record<string, Made>} */
const TERMS = {
  q: rowTimesColumn("x", "W_Q"),
  k: rowTimesColumn("x", "W_K"),
  v: rowTimesColumn("x", "W_V"),
  y: rowTimesColumn("concat", "W_O"),
  q_heads: cut("q"),
  k_heads: cut("k"),
  v_heads: cut("v"),
  dots: ([h, i, k], { z }) =>
    z[0][0].map((_, c) => [
      ["q_heads", h, i, c],
      ["k_heads", h, k, c],
    ]),
  scores: (at) => [[["dots", ...at]]],
  masked: ([h, i, k]) => [
    [
      ["scores", h, i, k],
      ["mask", i, k],
    ],
  ],
  weights: ([h, i], { x }) => x.map((_, k) => [["masked", h, i, k]]),
  z: ([h, i, j], { x }) =>
    x.map((_, k) => [
      ["weights", h, i, k],
      ["v_heads", h, k, j],
    ]),
  concat: ([i, c], { z }) => {
    const width = z[0][0].length;
    return [[["z", Math.floor(c / width), i, c % width]]];
  },
};

/** @type {(place: At, wires: Passed) => Terms} */
const termsOf = ([wire, ...at], wires) => TERMS[wire]?.(at, wires) ?? [];

/**
 * The places a number was computed from; none for an input.
 * @type {(place: At, wires: Passed) => At[]}
 */
export const parents = (place, wires) => termsOf(place, wires).flat();

/**
 * The places that a number's parents come from, all the way to the inputs.
 * @type {(place: At, wires: Passed) => At[]}
 */
export const ancestors = (place, wires) => closure(place, (one) => parents(one, wires));

/** How a number was made, written out. @type {(place: At, wires: Passed) => string} */
export function arithmetic(place, wires) {
  const [wire, ...at] = place;
  const terms = termsOf(place, wires);
  const name = placeName(place);
  if (wire === "mask") return mayLook(name, at, numberAt(wires, place));
  /** @type {(one: At) => string} */
  const value = (one) => numeral(numberAt(wires, one));
  /** @type {(one: At) => string} */
  const factor = (one) => (value(one).startsWith("−") ? `(${value(one)})` : value(one));
  const result = value(place);
  if (INPUTS.includes(wire)) return `${name} = ${result}, an input.`;
  switch (wire) {
    case "q_heads":
    case "k_heads":
    case "v_heads":
    case "concat":
      return `${name} = ${placeName(terms[0][0])} = ${result}: the same number, moved.`;
    case "scores":
      return `${name} = ${value(terms[0][0])} / √${wires.z[0][0].length} = ${result}`;
    case "masked": {
      const says = mayLook(`${name} = ${result}`, at.slice(1), numberAt(wires, terms[0][1]));
      const stays = Number.isFinite(numberAt(wires, place));
      return stays ? says.replace(/\.$/, ", its score stays.") : says;
    }
    case "weights":
      return softmaxWords(
        name,
        at,
        terms.map(([one]) => numberAt(wires, one)),
        result,
      );
    default:
      return `${name} = ${terms.map((term) => term.map(factor).join("·")).join(" + ")} = ${result}`;
  }
}

/** @type {(name: string, at: number[], may: boolean) => string} */
const mayLook = (name, [query, key], may) =>
  `${name}: query ${query} ${may ? "may" : "may not"} look at key ${key}.`;

/** @type {(name: string, at: number[], row: number[], result: string) => string} */
function softmaxWords(name, [, query, key], row, result) {
  const top = Math.max(...row);
  if (top === -Infinity) {
    return `${name} = 0: query ${query} may look at no key, so its weights are zeros.`;
  }
  /** @type {(s: number) => string} */
  const power = (s) => `exp(${numeral(s)})`;
  const words = `${name} = ${power(row[key])} / (${row.map(power).join(" + ")}) = ${result}`;
  if (top > 700) return `${words}; the largest score is taken off first, or exp would overflow.`;
  return row.includes(-Infinity) ? `${words}, since exp(−∞) = 0.` : words;
}
