// @ts-check
// Numbers of a recorded pass by their places: a wire's name with indices, ["q", 0, 1] is q[0, 1].

import { fixed } from "./numbers.js";

/** @typedef {[wire: string, ...at: number[]]} At */
/** Numbers of every wire, nested as deep as it has axes. @typedef {Record<string, any>} Wires */

/** @type {(wires: Wires, place: (string | number)[]) => any} */
export const numberAt = (wires, [wire, ...at]) => at.reduce((rows, i) => rows?.[i], wires[wire]);

/** @type {(place: At) => string} */
export const placeName = ([wire, ...at]) => `${wire}[${at.join(", ")}]`;

/**
 * The places that a number's parents come from, all the way to the inputs; `of` gives the parents.
 * @type {(place: At, of: (place: At) => At[]) => At[]}
 */
export function closure(place, of) {
  const found = /** @type {Map<string, At>} */ (new Map());
  /** @type {(one: At) => void} */
  const visit = (one) => {
    for (const older of of(one)) {
      if (found.has(older.join(" "))) continue;
      found.set(older.join(" "), older);
      visit(older);
    }
  };
  of(place).forEach(visit);
  return [...found.values()];
}

/**
 * The fewest decimals, 2 to 4, that show all of the first four of every number.
 * @type {(values: number[]) => number}
 */
export function decimals(values) {
  /** @type {(v: number, d: number) => boolean} */
  const enough = (v, d) => Number(v.toFixed(d)) === Number(v.toFixed(4));
  /** @type {(v: number) => number} */
  const need = (v) => [2, 3, 4].find((d) => !(Math.abs(v) < 1e4) || enough(v, d)) ?? 2;
  return Math.max(...values.map(need));
}

/**
 * A number that stays short: powers of ten from 10,000 on, and below what four decimals show.
 * @type {(value: number, places?: number) => string}
 */
export function numeral(value, places = decimals([value])) {
  const size = Math.abs(value);
  const shown = (size < 1e4 && size >= 5e-5) || size < 1e-12 || !Number.isFinite(value);
  if (shown) return fixed(value, places);
  return value.toExponential(2).replace("e+", "e").replaceAll("-", "−");
}
