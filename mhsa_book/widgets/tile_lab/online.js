// @ts-check
// The online softmax of one query, in numbers that can be redone by hand: all powers of e are
// powers of two, and the values are 0, 1, 2, 3 and again.

import { upTo } from "../shared/numbers.js";

/**
 * Largest power so far, total of all powers and sum of values, both divided by the largest.
 * @typedef {{ largest: number, total: number, sum: number }} Running
 */
/**
 * One tile in the life of a query: what was there, each key's power (0: it may not look), and
 * what is there behind it.
 * @typedef {{ before: Running, keys: number[], powers: number[], keep: number, added: Running,
 *   after: Running }} Round
 */

const PATTERN = [1, 2, 0, 3];

/**
 * e to the score of a query and a key.
 * @type {(query: number, key: number, n: number) => number}
 */
export const powerOf = (query, key, n) =>
  2 ** (PATTERN[(query + key) % 4] + Math.floor((4 * key) / n));

/** @type {(key: number) => number} */
export const valueOf = (key) => key % 4;

/** @type {(before: Running, keys: number[], powers: number[]) => Round} */
function roundOf(before, keys, powers) {
  const largest = Math.max(before.largest, ...powers);
  const keep = before.largest / largest;
  const added = { largest, total: 0, sum: 0 };
  keys.forEach((key, i) => {
    added.total += powers[i] / largest;
    added.sum += (powers[i] / largest) * valueOf(key);
  });
  const total = keep * before.total + added.total;
  const sum = keep * before.sum + added.sum;
  return { before, keys, powers, keep, added, after: { largest, total, sum } };
}

/**
 * The first query of a tile, from its first tile of keys to this one.
 * @type {(plan: import("./tiles.js").Plan, row: number, first: number, column: number) => Round}
 */
export function running({ n, tile, band: [ahead, behind] }, row, first, column) {
  const query = row * tile;
  /** @type {(key: number) => boolean} */
  const mayLook = (key) => key - query <= ahead && query - key <= behind;
  /** @type {(before: Running, j: number) => Round} */
  const next = (before, j) => {
    const keys = upTo(tile).map((i) => j * tile + i);
    return roundOf(
      before,
      keys,
      keys.map((key) => (mayLook(key) ? powerOf(query, key, n) : 0)),
    );
  };
  let round = next({ largest: 0, total: 0, sum: 0 }, first);
  for (let j = first + 1; j <= column; j += 1) round = next(round.after, j);
  return round;
}
