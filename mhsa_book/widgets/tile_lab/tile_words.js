// @ts-check
// What the loop does, in sentences.

import { grouped } from "../shared/numbers.js";
import { inBytes } from "./moved_bars.js";
import { fastBytes, largestTile, together } from "./tiles.js";

/** @import { Said } from "../shared/notice.js" */
/** @import { MovedByName } from "./moved_bars.js" */
/** @import { Plan } from "./tiles.js" */

/** @type {Record<string, string>} */
export const MASK_WORDS = {
  none: "none: all keys",
  causal: "causal",
  window: "causal, a window of n/4",
};

/** "0 to 31", or one number. @type {(i: number, tile: number) => string} */
const span = (i, tile) =>
  tile === 1 ? `${i}` : `${grouped(i * tile)} to ${grouped((i + 1) * tile - 1)}`;

/** @type {(plan: Plan, row: number, column: number) => string} */
export const atPlace = ({ n, tile }, row, column) =>
  `The table of ${grouped(n)} queries and keys in tiles of ${tile}; now queries `
  + `${span(row, tile)} and keys ${span(column, tile)}.`;

/** @type {(plan: Plan, memory: number) => string} */
export const fitsInWords = ({ d_head, tile }, memory) =>
  `Of ${grouped(memory)} bytes a tile of ${tile} × ${tile} takes `
  + `${grouped(fastBytes(tile, d_head))}: `
  + "q, k, v, z, its scores, and largest and total of each query.";

/**
 * No tile fits: why, and the smallest memory that would do.
 * @type {(memory: number, sizes: { n: number, d_head: number }, put: (bytes: number) => void) =>
 *   Said}
 */
export function lacksInWords(memory, { n, d_head }, put) {
  const least = fastBytes(1, d_head);
  const enough = [least, 65_536].filter((bytes) => largestTile(bytes, n, d_head));
  const error =
    `memory=${grouped(memory)} bytes hold no tile: one query and one key of width ${d_head} `
    + `need ${grouped(least)}.`;
  return { error, fixes: enough.map((bytes) => [`memory = ${grouped(bytes)}`, () => put(bytes)]) };
}

/**
 * @type {(plan: Plan, at: { row: number, column: number, step: number, count: number },
 *   all: MovedByName) => string}
 */
export function stepInWords({ n, tile }, { row, column, step, count }, all) {
  const loop = together(all["this loop"]);
  const skipped = (n / tile) ** 2 - count;
  const less = skipped ? `, ${grouped(skipped)} are skipped` : "";
  return (
    `Tile ${grouped(step + 1)} of ${grouped(count)}${less}: keys and values ${span(column, tile)} `
    + `are read, for queries ${span(row, tile)}. All in all the loop moves ${inBytes(loop)} `
    + "into the memory of its tiles."
  );
}
