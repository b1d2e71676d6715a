// @ts-check
// From the numbers of a pair to composed ones: the map of heads to heads, part by part.

import { upTo } from "../shared/numbers.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @typedef {"static" | "by_query" | "by_key" | "gates"} PartName */
/** @typedef {Record<PartName, number>} Strengths */
/**
 * What the maps of all pairs are made of; w1 and w2 are (token, rank, head).
 * @typedef {{ W_b: Matrix, query_w1: Matrix[], query_w2: Matrix[], query_gate: Matrix,
 *   key_w1: Matrix[], key_w2: Matrix[], key_gate: Matrix }} Maps
 */

export const PARTS = /** @type {PartName[]} */ (["static", "gates", "by_query", "by_key"]);

/**
 * A map (from, to) by a rule.
 * @type {(n: number, of: (i: number, j: number) => number) => Matrix}
 */
const square = (n, of) => upTo(n).map((i) => upTo(n).map((j) => of(i, j)));

/** Reads the heads with w1, writes them with w2. @type {(w1: Matrix, w2: Matrix) => Matrix} */
const lowRank = (w1, w2) =>
  square(w1[0].length, (i, j) => w1.reduce((sum, read, r) => sum + read[i] * w2[r][j], 0));

/**
 * The parts of the map of one pair, (from, to).
 * @type {(maps: Maps, q: number, k: number) => Record<PartName, Matrix>}
 */
export function partsOf(maps, q, k) {
  const [by_query, by_key] = [maps.query_gate[q], maps.key_gate[k]];
  return {
    static: maps.W_b,
    by_query: lowRank(maps.query_w1[q], maps.query_w2[q]),
    by_key: lowRank(maps.key_w1[k], maps.key_w2[k]),
    gates: square(by_query.length, (i, j) => (i === j ? by_query[i] + by_key[i] : 0)),
  };
}

/**
 * The whole map of one pair: every head keeps its own number, and the parts are added.
 * @type {(maps: Maps, strengths: Strengths, q: number, k: number) => Matrix}
 */
export function mapOf(maps, strengths, q, k) {
  const parts = partsOf(maps, q, k);
  /** @type {(i: number, j: number) => number} */
  const added = (i, j) => PARTS.reduce((sum, name) => sum + strengths[name] * parts[name][i][j], 0);
  return square(maps.W_b.length, (i, j) => (i === j ? 1 : 0) + added(i, j));
}

/** What each head gets from all. @type {(a: number[], map: Matrix) => number[]} */
export const mixed = (a, map) =>
  map[0].map((_, j) => a.reduce((sum, number, i) => sum + number * map[i][j], 0));

/** The numbers of a pair, by head. @type {(weights: Matrix[], q: number, k: number) => number[]} */
export const pairOf = (weights, q, k) => weights.map((rows) => rows[q][k]);

/**
 * The composed weights of all pairs, (head, query, key).
 * @type {(weights: Matrix[], maps: Maps, strengths: Strengths) => Matrix[]}
 */
export function composedOf(weights, maps, strengths) {
  const pairs = weights[0].map((row, q) =>
    row.map((_, k) => mixed(pairOf(weights, q, k), mapOf(maps, strengths, q, k))),
  );
  return weights.map((_, h) => pairs.map((row) => row.map((numbers) => numbers[h])));
}

/** The sum of every row. @type {(rows: Matrix) => number[]} */
export const sumsOf = (rows) => rows.map((row) => row.reduce((sum, number) => sum + number, 0));

/**
 * How many weights are below 0, and how many there are where some head looks.
 * @type {(weights: Matrix[], composed: Matrix[]) => { negative: number, all: number }}
 */
export function countNegative(weights, composed) {
  const negative = composed.flat(2).filter((number) => number < 0).length;
  const seen = weights[0].flatMap((row, q) => row.filter((_, k) => weights.some((w) => w[q][k])));
  return { negative, all: seen.length * weights.length };
}
