// @ts-check
// Numbers of half precision, and matrices that lie one after the other in them.

/** Matrices by name, each a list of rows. @typedef {Record<string, Float64Array[]>} Matrices */

const POWERS = Float64Array.from({ length: 31 }, (_, exponent) => 2 ** (exponent - 15));

/**
 * Numbers of half precision, two bytes each, lowest byte first.
 * @type {(raw: ArrayLike<number>) => Float64Array}
 */
export function halves(raw) {
  const numbers = new Float64Array(raw.length / 2);
  for (let i = 0; i < numbers.length; i += 1) {
    const bits = raw[2 * i] + 256 * raw[2 * i + 1];
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * POWERS[exponent];
    numbers[i] = bits & 0x8000 ? -size : size; // an exponent of 31 gives NaN: a damaged file
  }
  return numbers;
}

/**
 * The model's matrices by name, each a list of rows, from their layout [[name, rows, columns], …].
 * @type {(raw: ArrayLike<number>, layout: [name: string, rows: number, columns: number][]) =>
 *   Matrices}
 */
export function unpack(raw, layout) {
  const numbers = halves(raw);
  let at = 0;
  return Object.fromEntries(
    layout.map(([name, rows, columns]) => {
      const matrix = Array.from({ length: rows }, (_, i) =>
        numbers.subarray(at + i * columns, at + (i + 1) * columns),
      );
      at += rows * columns;
      return [name, matrix];
    }),
  );
}
