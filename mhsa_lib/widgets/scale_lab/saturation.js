// Random queries and keys, their scores, and what the softmax makes of them.

import { entropy, softmaxRow } from "../shared/tensor.js";

/** Queries and keys that are drawn, and the widest head. */
export const TOKENS = 64;
export const WIDEST = 1024;

/** Factors on the dot product, by name. */
export const FACTORS = {
  1: () => 1,
  "1/sqrt(d_head)": (d_head) => 1 / Math.sqrt(d_head),
  "1/d_head": (d_head) => 1 / d_head,
  "1/temperature": (_, temperature) => 1 / temperature,
};

export const factor = (scale, d_head, temperature) => FACTORS[scale](d_head, temperature);

/** A number from 0 to 2³² − 1 that looks random: the mixing at the end of MurmurHash3. */
function mixed(seed, i) {
  let h = (i ^ Math.imul(seed + 1, 0x9e3779b1)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Normal numbers in pairs, mean 0 and variance 1, the same for a seed wherever they are drawn. */
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

/** Rows of queries and of keys; a head of width d uses the first d numbers of each. */
export function drawn(seed, tokens = TOKENS, widest = WIDEST) {
  const all = normals(seed, 2 * tokens * widest);
  const row = (i) => all.subarray(i * widest, (i + 1) * widest);
  const rows = (from) => Array.from({ length: tokens }, (_, i) => row(from + i));
  return { queries: rows(0), keys: rows(tokens) };
}

/** Dot products of all queries with all keys, `from` components wide, made `to` wide. */
export function widened(dots, { queries, keys }, from, to) {
  return queries.map((q, i) => dots[i].map((sum, j) => sum + partial(q, keys[j], from, to)));
}

/** The dot product of some components, in four sums that a processor adds side by side. */
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

/** The same for each of the widths, which ascend. */
export function products(vectors, widths) {
  let dots = vectors.queries.map(() => new Float64Array(vectors.keys.length));
  return widths.map((width, w) => {
    dots = widened(dots, vectors, w ? widths[w - 1] : 0, width);
    return dots;
  });
}

export function variance(rows) {
  const values = rows.flatMap((row) => Array.from(row));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}

/** The variance of single products of a query's and a key's component, over all pairs. */
export function componentVariance({ queries, keys }, d_head) {
  let [mean, square] = [0, 0];
  for (let c = 0; c < d_head; c += 1) {
    const [q, k] = [moments(queries, c), moments(keys, c)];
    mean += (q.mean * k.mean) / d_head;
    square += (q.square * k.square) / d_head;
  }
  return square - mean * mean;
}

/** The average of component c over the rows, and of its square. */
function moments(rows, c) {
  let [mean, square] = [0, 0];
  for (const row of rows) {
    mean += row[c] / rows.length;
    square += (row[c] * row[c]) / rows.length;
  }
  return { mean, square };
}

/** One query's weights in numbers: bits, share of log2 n, largest weight, Σ |∂weight/∂score|. */
export function measured(weights) {
  const bits = entropy(weights);
  const squares = weights.reduce((sum, weight) => sum + weight * weight, 0);
  const most = Math.log2(weights.length);
  return {
    bits,
    share: most ? bits / most : 0,
    largest: Math.max(...weights),
    gradient: 2 * (1 - squares),
  };
}

/** The same numbers, averaged over the queries. */
export function average(rows) {
  const all = rows.map(measured);
  const mean = (name) => all.reduce((sum, one) => sum + one[name], 0) / all.length;
  return Object.fromEntries(Object.keys(all[0]).map((name) => [name, mean(name)]));
}

/** Weights of every query: the dot products times the factor, through the softmax. */
export const weighed = (dots, a) =>
  dots.map((row) => softmaxRow(Array.from(row, (dot) => dot * a)));

/** How many scores fall into each of `bins` equal parts of [−bound, bound]; the rest is cut. */
export function histogram(rows, bound, bins) {
  const counts = new Array(bins).fill(0);
  for (const row of rows) {
    for (const score of row) {
      const bin = Math.floor(((score + bound) / (2 * bound)) * bins);
      if (bin >= 0 && bin < bins) counts[bin] += 1;
    }
  }
  return counts;
}

/** Half the width of an axis on which this spread can be seen: 4, 16, 64 … */
export function axisFor(spread) {
  return 4 ** Math.max(1, Math.ceil(Math.log(3.5 * spread) / Math.log(4) - 1e-9));
}

/** In a few words, whether a query with this share of the largest entropy can choose and learn. */
export function verdict({ share }) {
  if (share < 0.35)
    return "Saturated: each query is almost decided already, and little gradient is left.";
  if (share > 0.97) return "Flat: each query nearly averages all keys; it hardly chooses.";
  return "In between: each query prefers some keys, and the gradient is alive.";
}
