// The mathematics of attention on plain arrays of rows, as mhsa_lib.functional has it.

export const transpose = (m) => m[0].map((_, j) => m.map((row) => row[j]));

export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/** Every row's largest score taken off first; a forbidden key weighs 0, an empty row is zeros. */
export function softmaxRow(scores, allowed = null) {
  const may = (k) => allowed === null || allowed[k];
  let top = -Infinity;
  scores.forEach((s, k) => {
    if (may(k) && (s > top || Number.isNaN(s))) top = s;
  });
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((s, k) => (may(k) ? Math.exp(s - top) : 0));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / total);
}

export const softmax = (scores, mask = null) =>
  scores.map((row, q) => softmaxRow(row, mask && mask[q]));

/** Entropy in bits; 0 · log 0 counts as 0. */
export const entropy = (weights) =>
  weights.reduce((sum, w) => (w > 0 ? sum - w * Math.log2(w) : sum), 0);

/** Columns `from` to `to` of a matrix. */
export const columns = (m, from, to) => m.map((row) => row.slice(from, to));

/** Matrices side by side. */
export const beside = (parts) => parts[0].map((_, i) => parts.flatMap((part) => part[i]));
