// @ts-check
// Weights as they travel from a worker to its page, as Python's ``packed`` has them.

/**
 * 0 only for an exact 0, 65535 for 1; low byte first.
 * @param {Float32Array} weights
 */
export function in16Bits(weights) {
  const view = new DataView(new ArrayBuffer(2 * weights.length));
  weights.forEach((weight, i) => {
    const step = Math.round(weight * 65535);
    view.setUint16(2 * i, weight > 0 ? Math.max(1, Math.min(step, 65535)) : 0, true);
  });
  return new Uint8Array(view.buffer);
}
