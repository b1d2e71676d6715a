// @ts-check
// What happens to each row by itself: the norm, the gate, the softmax.

/**
 * Every row of `x` divided by its root mean square, times the weight, into `y`.
 * Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467.
 * @type {(x: Float32Array, weight: Float32Array, eps: number, y: Float32Array) => Float32Array}
 */
export function rmsNormed(x, weight, eps, y) {
  const width = weight.length;
  for (let from = 0; from < x.length; from += width) {
    let squares = 0;
    for (let i = 0; i < width; i += 1) squares += x[from + i] ** 2;
    const scale = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i += 1) y[from + i] = x[from + i] * scale * weight[i];
  }
  return y;
}

/**
 * SwiGLU: the gate through SiLU, times what it lets through, in place.
 * Source: Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202.
 * @type {(gate: Float32Array, wide: Float32Array) => void}
 */
export function gated(gate, wide) {
  for (let i = 0; i < gate.length; i += 1) gate[i] = (gate[i] / (1 + Math.exp(-gate[i]))) * wide[i];
}

/**
 * The likeliest ids, the first of equals first.
 * @type {(logits: Float32Array, n: number) => number[]}
 */
export function likeliest(logits, n) {
  /** @type {number[]} */
  const best = [];
  logits.forEach((logit, id) => {
    if (best.length === n && logit <= logits[best[n - 1]]) return;
    let at = best.length;
    while (at > 0 && logits[best[at - 1]] < logit) at -= 1;
    best.splice(at, 0, id);
    best.length = Math.min(best.length, n);
  });
  return best;
}
