// @ts-check
// What a dial stops at.

/** 1, 2, 4, … and the largest. @type {(most: number) => number[]} */
export function doublings(most) {
  const powers = Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, i) => 2 ** i);
  return [...new Set([...powers, most])];
}

/**
 * The one that differs from `wish` by the smallest factor; where not all are positive, by the
 * smallest difference.
 * @type {(numbers: number[], wish: number) => number}
 */
export function nearest(numbers, wish) {
  const positive = [...numbers, wish].every((number) => number > 0);
  /** @type {(number: number) => number} */
  const off = (number) => Math.abs(positive ? Math.log(number / wish) : number - wish);
  return numbers.reduce((best, number) => (off(number) < off(best) ? number : best));
}

/**
 * So many stops further, backwards where `by` is negative, but not beyond the last one; or
 * undefined where none is left.
 * @type {(list: number[], from: number, by: number) => number | undefined}
 */
export function further(list, from, by) {
  const ahead =
    by > 0 ? list.filter((stop) => stop > from) : list.filter((stop) => stop < from).reverse();
  return ahead[Math.min(Math.abs(by), ahead.length) - 1];
}
