// @ts-check
// Where things lie in the drawing.

export const STEP = 26; // width of a coordinate
export const GUTTER = 84; // room for names on the left
export const BARS = { top: 8, height: 190 };
export const ROW = 15; // height of a row of W_O

/**
 * Height of the middle of a row of W_O; blocks of heads, `width` rows each, stand apart.
 * @type {(row: number, width: number) => number}
 */
export function rowPlace(row, width) {
  return BARS.top + BARS.height + 38 + row * ROW + Math.floor(row / width) * 8;
}
