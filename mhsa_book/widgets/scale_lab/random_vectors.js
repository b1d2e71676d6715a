// @ts-check
// Random queries and keys, the same wherever they are drawn, and their dot products.

/**
 * Rows of queries and of keys.
 * @typedef {{ queries: Float64Array[], keys: Float64Array[] }} Vectors
 */

/** Queries and keys that are drawn, and the widest head. */
export const TOKENS = 64;

export const WIDEST = 1024;

/** Widths at which dot products are kept: 1, 2, 4, … */
export const POWERS = Array.from({ length: 11 }, (_, i) => 2 ** i);

/**
 * A number from 0 to 2³² − 1 that looks random: the mixing at the end of MurmurHash3.
 * @type {(seed: number, i: number) => number}
 */
function mixed(seed, i) {
  let h = (i ^ Math.imul(seed + 1, 0x9e3779b1)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Normal numbers in pairs, mean 0 and variance 1, the same for a seed wherever they are drawn.
 * @type {(seed: number, count: number) => Float64Array}
 */
export function normals(seed, count) {
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log((mixed(seed, i) + 0.5) / 2 ** 32));
    const angle = (2 * Math.PI * (mixed(seed, i + 1) + 0.5)) / 2 ** 32;
    numbers[i] = radius * Math.cos(angle);
    numbers[i + 1] = radius * Math.sin(angle);
  }
  return numbers;
}

/**
 * Rows of queries and of keys; a head of width d uses the first d numbers of each.
 * @type {(seed: number, tokens?: number, widest?: number) => Vectors}
 */
export function randomVectors(seed, tokens = TOKENS, widest = WIDEST) {
  const all = normals(seed, 2 * tokens * widest);
  /** @type {(i: number) => Float64Array} */
  const row = (i) => all.subarray(i * widest, (i + 1) * widest);
  /** @type {(from: number) => Float64Array[]} */
  const rows = (from) => Array.from({ length: tokens }, (_, i) => row(from + i));
  return { queries: rows(0), keys: rows(tokens) };
}

/**
 * Dot products of all queries with all keys, `from` components wide, made `to` wide.
 * @type {(dots: Float64Array[], vectors: Vectors, from: number, to: number) => Float64Array[]}
 */
export function widened(dots, { queries, keys }, from, to) {
  return queries.map((q, i) => dots[i].map((sum, j) => sum + partial(q, keys[j], from, to)));
}

/**
 * The dot product of some components, in four sums that a processor adds side by side.
 * @type {(q: Float64Array, k: Float64Array, from: number, to: number) => number}
 */
function partial(q, k, from, to) {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = from;
  for (; i + 3 < to; i += 4) {
    a += q[i] * k[i];
    b += q[i + 1] * k[i + 1];
    c += q[i + 2] * k[i + 2];
    d += q[i + 3] * k[i + 3];
  }
  for (; i < to; i += 1) a += q[i] * k[i];
  return a + b + c + d;
}

/**
 * The same for each of the widths, which ascend.
 * @type {(vectors: Vectors, widths: number[]) => Float64Array[][]}
 */
export function products(vectors, widths) {
  /** @type {Float64Array[]} */
  let dots = vectors.queries.map(() => new Float64Array(vectors.keys.length));
  return widths.map((width, w) => {
    dots = widened(dots, vectors, w ? widths[w - 1] : 0, width);
    return dots;
  });
}
