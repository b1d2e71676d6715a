// @ts-check
// What happens to each row by itself: the norm, GELU, the softmax, and cosines.

/** A layer norm. @typedef {{ weight: Float32Array, bias: Float32Array }} Norm */

/** Every row of `x` to mean 0 and variance 1, in place, then times weight plus bias.
 * @type {(x: Float32Array, norm: Norm, eps: number) => Float32Array}
 */
export function normed(x, { weight, bias }, eps) {
  const width = weight.length;
  for (let from = 0; from < x.length; from += width) {
    let [sum, squares] = [0, 0];
    for (let i = 0; i < width; i += 1) sum += x[from + i];
    const mean = sum / width;
    for (let i = 0; i < width; i += 1) squares += (x[from + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i += 1) {
      x[from + i] = (x[from + i] - mean) * scale * weight[i] + bias[i];
    }
  }
  return x;
}

/** @type {(x: Float32Array, y: Float32Array) => Float32Array} */
export function add(x, y) {
  for (let i = 0; i < x.length; i += 1) x[i] += y[i];
  return x;
}

/** Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: within 1.5e-7. */
const [SHARE, ...TERMS] = [
  0.3275911, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429,
];

/** The integral of the bell curve. @type {(x: number) => number} */
export function erf(x) {
  const size = Math.abs(x);
  const t = 1 / (1 + SHARE * size);
  let sum = 0;
  for (let i = TERMS.length - 1; i >= 0; i -= 1) sum = (sum + TERMS[i]) * t;
  const found = 1 - sum * Math.exp(-size * size);
  return x < 0 ? -found : found;
}

/** GELU with erf, as BERT has it, in place. @type {(x: Float32Array) => Float32Array} */
export function gelu(x) {
  for (let i = 0; i < x.length; i += 1) x[i] = 0.5 * x[i] * (1 + erf(x[i] * Math.SQRT1_2));
  return x;
}

/** A row of scores becomes weights, in place. @type {(row: Float32Array) => void} */
export function softmax(row) {
  let [top, sum] = [-Infinity, 0];
  for (let i = 0; i < row.length; i += 1) if (row[i] > top) top = row[i];
  for (let i = 0; i < row.length; i += 1) {
    row[i] = Math.exp(row[i] - top);
    sum += row[i];
  }
  for (let i = 0; i < row.length; i += 1) row[i] /= sum;
}

/**
 * What one head does for one query: its weight on each key, and its z, to which all are added.
 * Rows of keys and values begin `across` numbers apart.
 * @type {(query: Float32Array, keys: Float32Array, values: Float32Array, across: number,
 *   weights: Float32Array, z: Float32Array) => void}
 */
export function attendRow(query, keys, values, across, weights, z) {
  const d_head = query.length;
  for (let j = 0; j < weights.length; j += 1) {
    let score = 0;
    for (let c = 0; c < d_head; c += 1) score += query[c] * keys[j * across + c];
    weights[j] = score / Math.sqrt(d_head);
  }
  softmax(weights);
  for (let j = 0; j < weights.length; j += 1) {
    const weight = weights[j];
    for (let c = 0; c < d_head; c += 1) z[c] += weight * values[j * across + c];
  }
}

/** Mean of `n` rows, made as long as 1. @type {(x: Float32Array, n: number, width: number) =>
 *   Float32Array} */
export function pooled(x, n, width) {
  const mean = new Float32Array(width);
  for (let i = 0; i < n * width; i += 1) mean[i % width] += x[i] / n;
  const length = Math.hypot(...mean);
  return mean.map((value) => value / length);
}

/** The cosine of the angle between two vectors.
 * @type {(a: Float32Array, b: Float32Array) => number}
 */
export function cosine(a, b) {
  let [both, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    both += a[i] * b[i];
    ofA += a[i] * a[i];
    ofB += b[i] * b[i];
  }
  return both / Math.sqrt(ofA * ofB);
}
