// @ts-check
// W_O as a sum: what each head adds to y with its own rows of W_O, and the one product they make.

import { dot, matmul, transpose } from "../shared/tensor.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** A part of a bar. @typedef {{ from: number, to: number }} Bar */

/**
 * What each head writes, (head, query, d_model): z of the head times its block of rows.
 * @type {(z: Matrix[], W_O: Matrix) => Matrix[]}
 */
export function written(z, W_O) {
  const width = z[0][0].length;
  return z.map((rows, h) => {
    const block = transpose(W_O.slice(h * width, (h + 1) * width));
    return rows.map((row) => block.map((column) => dot(row, column)));
  });
}

/**
 * concat @ W_O, (query, d_model), with the columns of the heads in `off` set to zero.
 * @type {(z: Matrix[], W_O: Matrix, bias: number[] | null, off: number[]) => Matrix}
 */
export function product(z, W_O, bias, off) {
  const concat = z[0].map((_, q) =>
    z.flatMap((rows, h) => rows[q].map((x) => (off.includes(h) ? 0 : x))),
  );
  return matmul(concat, W_O).map((row) => row.map((y, c) => y + (bias ? bias[c] : 0)));
}

/**
 * The parts of every y added up, (query, d_model), without the heads in `off`.
 * @type {(parts: Matrix[], off: number[]) => Matrix}
 */
export function summed(parts, off) {
  const on = parts.filter((_, h) => !off.includes(h));
  return parts[0].map((row, q) => row.map((_, c) => on.reduce((sum, part) => sum + part[q][c], 0)));
}

/** The largest difference between two tables. @type {(a: Matrix, b: Matrix) => number} */
export function apart(a, b) {
  return Math.max(...a.flatMap((row, i) => row.map((x, j) => Math.abs(x - b[i][j]))));
}

/**
 * Where each part lies in its bar: positive ones upwards from zero, negative ones downwards.
 * @type {(values: number[]) => Bar[]}
 */
export function stacked(values) {
  let [above, below] = [0, 0];
  return values.map((value) => {
    const from = value < 0 ? below : above;
    if (value < 0) below += value;
    else above += value;
    return { from, to: from + value };
  });
}

/**
 * The lowest and the highest end of any bar.
 * @type {(parts: Matrix[]) => [low: number, high: number]}
 */
export function reach(parts) {
  const ends = parts[0].flatMap((row, q) =>
    row.flatMap((_, c) => stacked(parts.map((part) => part[q][c]))),
  );
  const tips = ends.map(({ to }) => to);
  return [Math.min(0, ...tips), Math.max(0, ...tips)];
}

/**
 * Round numbers between two ends, about five of them; one that lies just beyond an end counts.
 * @type {(low: number, high: number) => number[]}
 */
export function ticks(low, high) {
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const [first, last] = [Math.ceil(low / step - 0.1), Math.floor(high / step + 0.1)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}
