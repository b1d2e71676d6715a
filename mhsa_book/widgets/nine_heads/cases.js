// @ts-check
// What the model does in each of 512 cases: its next words, and where nine heads attend.

import { bytes, total, upTo } from "../shared/numbers.js";

/** A value that travels as bytes. @typedef {string | DataView} Packed */
/**
 * As Python sends it. @typedef {{ heads: number[][], tokens: string[], words: string[],
 *   chances: Packed, rows: Packed, maps: Packed }} Sent
 */
/**
 * Chances (case, word) with all other words at the end; where the last word attends, (head, case
 * of the heads before it, key); and where each word attends with every head on, (head, query, key).
 * @typedef {{ heads: number[][], chances: number[][], rows: number[][][], maps: number[][][] }}
 *   Cases
 */

/** Bit k is set when head k is off. @type {(off: number[]) => number} */
export const caseOf = (off) => total(off.map((k) => 2 ** k));

/**
 * Only heads in lower layers can change where head k attends.
 * @type {(heads: number[][], k: number) => number[]}
 */
export const before = (heads, k) => upTo(heads.length).filter((j) => heads[j][0] < heads[k][0]);

/** @type {(sent: Sent) => Cases} */
export function decoded({ heads, tokens, words, chances, rows, maps }) {
  const n = tokens.length;
  const low = bytes(chances);
  const likely = upTo(2 ** heads.length).map((c) => {
    const shown = words.map((_, w) => {
      const at = 2 * (c * words.length + w);
      return (low[at] + 256 * low[at + 1]) / 65535;
    });
    return [...shown, Math.max(0, 1 - total(shown))];
  });
  const weights = (/** @type {Uint8Array} */ some) => Array.from(some, (step) => step / 255);

  const [last, whole] = [bytes(rows), bytes(maps)];
  let at = 0;
  const ofLast = upTo(heads.length).map((k) =>
    upTo(2 ** before(heads, k).length).map(() => weights(last.slice(n * at, n * ++at))),
  );
  let from = 0;
  const ofAll = upTo(heads.length).map(() =>
    upTo(n).map((query) => weights(whole.slice(from, (from += query + 1)))),
  );
  return { heads, chances: likely, rows: ofLast, maps: ofAll };
}

/** The chance of every word that has a bar. @type {(cases: Cases, off: number[]) => number[]} */
export const chancesOf = ({ chances }, off) => chances[caseOf(off)];

/**
 * Where word `query` attends in head k. What other heads change of it is known of the last word.
 * @type {(cases: Cases, k: number, off: number[], query: number) => number[]}
 */
export function weightsOf({ heads, rows, maps }, k, off, query) {
  if (query < maps[k].length - 1) return maps[k][query];
  const earlier = before(heads, k).map((j) => off.includes(j));
  return rows[k][caseOf(upTo(earlier.length).filter((i) => earlier[i]))];
}

/**
 * The heads that are off once head k is switched.
 * @type {(off: number[], k: number) => number[]}
 */
export const switched = (off, k) =>
  off.includes(k) ? off.filter((j) => j !== k) : [...off, k].sort((a, b) => a - b);

/** The largest is where. @type {(row: number[]) => number} */
export const largestAt = (row) => row.indexOf(Math.max(...row));
