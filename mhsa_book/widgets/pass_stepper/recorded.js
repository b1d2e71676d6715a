// @ts-check
// A recorded pass as the page uses it, and where a number came from in words.

import { numberAt, numeral, placeName } from "../shared/places.js";

/** @import { At, Wires } from "../shared/places.js" */
/** @typedef {{ step: string, makes: string[], says: string }} Stage */
/**
 * A pass as Python sends it: numbers by wire, and the parents of each as positions in one list of
 * all places.
 * @typedef {{ inputs: string[], axes: Record<string, string[]>, numbers: Record<string, any>,
 *   parents: Record<string, number[][]>, steps: Stage[] }} Recorded
 */
/** @typedef {ReturnType<typeof unpacked>} Pass */

/**
 * The pass as the page uses it: numbers by wire, and the parents of every place by its key.
 * @param {Recorded} recorded
 */
export function unpacked({ inputs, axes, numbers, parents, steps }) {
  const each = Object.entries(numbers).map(([name, rows]) => [name, infinite(rows)]);
  const places = Object.keys(axes).flatMap((name) =>
    everyPlace(numbers[name]).map((at) => /** @type {At} */ ([name, ...at])),
  );
  /** @type {(wire: string) => number} */
  const start = (wire) => places.findIndex(([name]) => name === wire);
  const known = Object.entries(parents).flatMap(([wire, lists]) =>
    lists.map((list, i) => [places[start(wire) + i].join(" "), list.map((j) => places[j])]),
  );
  const uses = Object.entries(parents).map(([wire, lists]) => [
    wire,
    [...new Set(lists.flat().map((j) => places[j][0]))],
  ]);
  return {
    inputs,
    axes,
    steps,
    wires: /** @type {Wires} */ (Object.fromEntries(each)),
    uses: /** @type {Record<string, string[]>} */ (Object.fromEntries(uses)),
    parents: /** @type {Record<string, At[]>} */ (Object.fromEntries(known)),
  };
}

/** JSON has no −∞; null stands for it. @type {(rows: any) => any} */
const infinite = (rows) => (Array.isArray(rows) ? rows.map(infinite) : (rows ?? -Infinity));

/** @type {(rows: any) => number[][]} */
const everyPlace = (rows) =>
  Array.isArray(rows) ? rows.flatMap((row, i) => everyPlace(row).map((at) => [i, ...at])) : [[]];

/** Where a number came from, in a sentence. @type {(place: At, pass: Pass) => string} */
export function origin(place, { inputs, wires, parents }) {
  /** @type {(one: At) => string} */
  const equation = (one) => `${placeName(one)} = ${numeral(numberAt(wires, one))}`;
  const value = equation(place);
  if (inputs.includes(place[0])) return `${value}, an input.`;
  const near = parents[place.join(" ")];
  if (near.length === 0) return `${value}, whatever the numbers before it are.`;
  if (near.length === 1) return `${value}, made of ${equation(near[0])} alone.`;
  const counts = /** @type {Map<string, number>} */ (new Map());
  for (const [name] of near) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].map(([name, count]) => `${count} of ${name}`);
  return `${value}, made of ${near.length} numbers: ${parts.join(", ")}.`;
}
