// @ts-check
// From a value to a place in a drawing.

/**
 * A position on a logarithmic axis, kept inside it.
 * @type {(low: number, high: number, from: number, to: number) => (value: number) => number}
 */
export function logScale(low, high, from, to) {
  /** @type {(value: number) => number} */
  const share = (value) => Math.log(value / low) / Math.log(high / low);
  return (value) => from + (to - from) * Math.min(1, Math.max(0, share(value)));
}
