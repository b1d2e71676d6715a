// @ts-check
// The products of the model: rows of vectors times a matrix, in plain loops.

/** Rows that are multiplied together; rows of vectors are padded to a multiple of it. */
export const TOGETHER = 4;

/** How many rows `n` tokens take. @type {(n: number) => number} */
export const padded = (n) => Math.ceil(n / TOGETHER) * TOGETHER;

/** A linear map: `weight` is (out, in), flat. @typedef {{ weight: Float32Array,
 *   bias: Float32Array }} Linear */

/**
 * x Wᵀ + b. A number that is read takes longer than a product, so four rows of x meet two rows
 * of W at once: six numbers are read for eight products.
 * @type {(x: Float32Array, map: Linear) => Float32Array}
 */
export function times(x, { weight, bias }) {
  const out = bias.length;
  const width = weight.length / out;
  const rows = x.length / width;
  const y = new Float32Array(rows * out);
  for (let column = 0; column < out; column += 2) {
    const u = column * width;
    const v = u + width;
    for (let row = 0; row < rows; row += TOGETHER) {
      const p = row * width;
      const q = p + width;
      const r = q + width;
      const s = r + width;
      let [p0, p1, q0, q1, r0, r1, s0, s1] = [0, 0, 0, 0, 0, 0, 0, 0];
      for (let i = 0; i < width; i += 1) {
        const w0 = weight[u + i];
        const w1 = weight[v + i];
        p0 += x[p + i] * w0;
        p1 += x[p + i] * w1;
        q0 += x[q + i] * w0;
        q1 += x[q + i] * w1;
        r0 += x[r + i] * w0;
        r1 += x[r + i] * w1;
        s0 += x[s + i] * w0;
        s1 += x[s + i] * w1;
      }
      const at = row * out + column;
      [p0, q0, r0, s0].forEach((sum, i) => (y[at + i * out] = sum + bias[column]));
      [p1, q1, r1, s1].forEach((sum, i) => (y[at + i * out + 1] = sum + bias[column + 1]));
    }
  }
  return y;
}
