// @ts-check
// Weights as pixels: the colours of a heat map, and the canvas that they fill. Labels, pointer and
// keys of a head's map are in head_map.js.

import { channels, weightColour } from "../shared/colours.js";
import { el } from "../shared/elements.js";
import { clamp } from "../shared/numbers.js";

/** @import { Weights } from "./measures.js" */

/**
 * White for no difference, blue where the first is larger, orange where the second is.
 * @type {(value: number) => string}
 */
export function differenceColour(value) {
  const end = value > 0 ? [0, 90, 160] : [205, 88, 0];
  const share = Math.min(1, Math.abs(value));
  return `rgb(${end.map((c) => Math.round(255 + share * (c - 255))).join(",")})`;
}

/** 256 colours as pixels. @type {(colour: (share: number) => string) => Uint32Array} */
export const palette = (colour) =>
  Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = channels(colour(i / 255));
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });

const WEIGHTS = palette(weightColour);
const DIFFERENCES = palette((share) => differenceColour(2 * share - 1));

/** A canvas without a size. */
export const weightCanvas = () => el("canvas", { "aria-hidden": "true" });

/**
 * A pixel for every weight; the same size again would clear the canvas and take its time.
 * @type {(canvas: HTMLCanvasElement, rows: number, columns: number) => void}
 */
export function resize(canvas, rows, columns) {
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
}

/**
 * Fill canvases with a pixel a weight from their corner, one head after the other; exact zeros
 * stay clear.
 * @type {(canvases: HTMLCanvasElement[], weights: Weights, rows: number, columns: number,
 *   signed?: boolean) => void}
 */
export function paint(canvases, weights, rows, columns, signed = false) {
  const image = new ImageData(columns, rows);
  const into = new Uint32Array(image.data.buffer);
  canvases.forEach((canvas, head) => {
    const from = head * into.length;
    for (let i = 0; i < into.length; i += 1) {
      const weight = weights[from + i];
      if (signed) into[i] = DIFFERENCES[clamp(Math.round(127.5 * (weight + 1)), 0, 255)];
      else into[i] = weight > 0 ? WEIGHTS[weight < 1 ? (255 * weight + 0.5) | 0 : 255] : 0;
    }
    canvas.getContext("2d")?.putImageData(image, 0, 0);
  });
}
