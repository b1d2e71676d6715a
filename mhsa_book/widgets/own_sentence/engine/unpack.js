// @ts-check
// The numbers of the model as they travel: of 12 bits, with a scale for each row, or of 32.

import { headOf } from "./head.js";

/** Rows of numbers that are unpacked when they are read. @typedef {(row: number) =>
 *   Float32Array} Table */

/** @type {(data: Uint8Array, from: number, n: number) => Float32Array} */
const floats = (data, from, n) => new Float32Array(data.slice(from, from + 4 * n).buffer);

/**
 * Whole numbers of 12 bits, two in three bytes, times their row's scale; 2048 stands for 0.
 * @type {(data: Uint8Array, from: number, scale: number, into: Float32Array) => Float32Array}
 */
function unpackRow(data, from, scale, into) {
  for (let i = 0, at = from; i < into.length; i += 2, at += 3) {
    const [low, middle, high] = [data[at], data[at + 1], data[at + 2]];
    into[i] = (low + ((middle & 15) << 8) - 2048) * scale;
    into[i + 1] = ((middle >> 4) + (high << 4) - 2048) * scale;
  }
  return into;
}

/**
 * Every tensor by its name: a table for rows that are read one by one, a matrix for the others.
 * @param {Uint8Array} data
 * @param {(name: string) => boolean} isTable
 */
export function tensorsOf(data, isTable) {
  const { head, from } = headOf(data);
  const matrices = /** @type {Record<string, Float32Array>} */ ({});
  const tables = /** @type {Record<string, Table>} */ ({});
  let at = from;
  for (const [name, rows, columns, bits] of head.tensors) {
    if (bits === 32) {
      matrices[name] = floats(data, at, rows * columns);
      at += 4 * rows * columns;
      continue;
    }
    const [scales, first, size] = [floats(data, at, rows), at + 4 * rows, (columns * 3) / 2];
    /** @type {(row: number, into: Float32Array) => Float32Array} */
    const read = (row, into) => unpackRow(data, first + row * size, scales[row], into);
    if (isTable(name)) tables[name] = (row) => read(row, new Float32Array(columns));
    else {
      const whole = new Float32Array(rows * columns);
      for (let row = 0; row < rows; row += 1) {
        read(row, whole.subarray(row * columns, (row + 1) * columns));
      }
      matrices[name] = whole;
    }
    at = first + rows * size;
  }
  if (at !== data.length) throw new Error(`${data.length} bytes, not the ${at} that it needs.`);
  return { head, matrices, tables };
}
