// @ts-check
// Where things lie in the drawing.

export const STEP = 26; // width of a coordinate
export const GUTTER = 84; // room for names on the left
export const BARS = { top: 8, height: 190 };
export const ROW = 15; // height of a row of W_O

/** How far names below the bars push W_O down: short ones lie flat. @param {string[]} names */
export function roomFor(names) {
  const longest = Math.max(...names.map((name) => name.length * (/^[ -~]*$/.test(name) ? 8 : 14)));
  return longest > 16 ? Math.min(longest, 140) : 0;
}

/**
 * Height of the middle of a row of W_O; blocks of heads, `width` rows each, stand apart.
 * @type {(row: number, width: number) => number}
 */
export function rowPlace(row, width) {
  return BARS.top + BARS.height + 38 + row * ROW + Math.floor(row / width) * 8;
}
