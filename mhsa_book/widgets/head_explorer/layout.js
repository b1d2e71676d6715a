// @ts-check
// Where everything of a large head lies. All lengths are CSS pixels.

import { clamp } from "../shared/numbers.js";
import { spelled } from "../shared/tokens.js";

/** @import { Token } from "./measures.js" */
/** @typedef {ReturnType<typeof layout>} Box */

const TALL = 500;

/**
 * Where everything lies in `width` pixels, when the widest labels are so wide.
 * @param {number} width @param {number} rows @param {number} columns @param {number} rowLabel
 * @param {number} columnLabel @param {boolean} lines
 */
export function layout(width, rows, columns, rowLabel, columnLabel, lines) {
  const top = lines ? 22 : columnLabel + 24;
  const left = Math.max(rowLabel, 34) + 8;
  const most = Math.max(rows, columns);
  const square = Math.min((width - left - 2) / columns, TALL / rows);
  const cell = lines ? clamp(TALL / most, 13, 24) : clamp(square, 4, 46);
  const room = lines ? clamp(width - left - columnLabel - 52, 60, 320) : cell * columns;
  const right = left + room;
  const bottom = top + cell * (lines ? most : rows);
  const whole = lines ? right + columnLabel + 50 : right + 2;
  return { left, top, cell, right, bottom, width: whole, height: bottom + 2 };
}

/**
 * The widest of some tokens, in a font.
 * @type {(pen: CanvasRenderingContext2D, tokens: Token[]) => number}
 */
export const widest = (pen, tokens) =>
  Math.max(...tokens.map(({ token }) => pen.measureText(spelled(token)).width)) * 1.08 + 4;

/**
 * Row and column under a point; undefined on a label, and for the far side of a line.
 * @type {(x: number, y: number, box: Box, lines: boolean) => { row?: number, column?: number }}
 */
export function placeIn(x, y, { left, top, cell, right }, lines) {
  const row = Math.floor((y - top) / cell);
  if (!lines) return { row, column: Math.floor((x - left) / cell) };
  return x > (left + right) / 2 ? { column: row } : { row };
}

/** Sizes as a style. @type {(node: HTMLElement, sizes: Record<string, number>) => void} */
export function place(node, sizes) {
  for (const [side, size] of Object.entries(sizes)) node.style.setProperty(side, `${size}px`);
}
