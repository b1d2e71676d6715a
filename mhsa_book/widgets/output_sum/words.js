// @ts-check
// The sum in words, and written out term by term.

import { el, svg } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { quoted } from "../shared/tokens.js";

/** @import { Matrix } from "../shared/tensor.js" */
/**
 * The fill of a part, in all pictures.
 * @typedef {{ id: string, colour: string, hatch: string }} Ink
 */
/** One number of y: its query and its column. @typedef {{ q: number, column: string }} Spot */

/** Terms in a sum with true minus signs: 0.5 − 0.25. @type {(values: number[]) => string} */
export function signed(values) {
  return values
    .map((value, i) => {
      const size = fixed(Math.abs(value), 3);
      if (i === 0) return fixed(value, 3);
      return value < 0 ? `− ${size}` : `+ ${size}`;
    })
    .join(" ");
}

/**
 * The picture in a sentence.
 * @type {(names: string[], values: number[], token: string, column: string, off: number[]) =>
 *   string}
 */
export function describe(names, values, token, column, off) {
  const total = values.reduce((sum, value, i) => (off.includes(i) ? sum : sum + value), 0);
  const parts = values.map((value, i) => {
    const wrote = off.includes(i) ? "is off" : `wrote ${fixed(value, 3)}`;
    return `${names[i]} ${wrote}`;
  });
  const start = `Coordinate ${column} of y for ${quoted(token)} is ${fixed(total, 3)}`;
  return `${start}: ${parts.join(", ")}.`;
}

/** @type {(ink: { id: string }) => SVGElement} */
export function swatch({ id }) {
  const about = { class: "mhsa-swatch", width: 22, height: 12, "aria-hidden": "true" };
  return svg("svg", about, svg("rect", { width: 22, height: 12, fill: `url(#${id})` }));
}

/** A name that cannot turn its surroundings around. @param {string} name */
const bdi = (name) => el("bdi", {}, name);

/**
 * What one head adds, written out: z of the head times its rows of one column of W_O.
 * @type {(h: number, numbers: number[], weights: number[], spot: Spot, ink: Ink, value: number,
 *   off: boolean) => HTMLElement}
 */
export function term(h, numbers, weights, { q, column }, ink, value, off) {
  const width = numbers.length;
  /** @type {(x: number) => string} */
  const inside = (x) => (x < 0 ? `(${fixed(x, 3)})` : fixed(x, 3));
  const products = numbers.flatMap((x, i) => [
    el("span", {}, `${i ? "+ " : ""}${inside(x)}·${inside(weights[i])}`),
    " ",
  ]);
  return el(
    "p",
    { class: off ? "mhsa-off" : null },
    swatch(ink),
    el("b", {}, ` head ${h}`),
    off ? " (off) " : " ",
    el("code", {}, `z[${h}, ${q}] · W_O[${h * width}:${(h + 1) * width}, `, bdi(column), "]"),
    el("br"),
    products,
    el("b", {}, `= ${fixed(value, 3)}`),
  );
}

/** @type {(ink: Ink, value: number, spot: Spot) => HTMLElement} */
export const biasTerm = (ink, value, { column }) =>
  el("p", {}, swatch(ink), " the bias, b_O[", bdi(column), `] = ${fixed(value, 3)}`);

/**
 * The number of y as the sum of its parts.
 * @type {(spot: Spot, values: number[], total: number) => HTMLElement}
 */
export const totalLine = ({ q, column }, values, total) =>
  el(
    "p",
    { class: "mhsa-total" },
    el("b", {}, `y[${q}, `, bdi(column), "]"),
    values.length ? ` = ${signed(values)}` : "",
    el("b", {}, ` = ${fixed(total, 3)}`),
  );

/**
 * What the one product gives, and how far it is from the sum over heads.
 * @type {(hasBias: boolean, value: number, whole: Matrix, apart: number) => HTMLElement}
 */
export function productLine(hasBias, value, whole, apart) {
  const size = `${whole.length} × ${whole[0].length}`;
  const code = el("code", {}, hasBias ? "concat @ W_O + b_O" : "concat @ W_O");
  const words =
    ` gives ${fixed(value, 3)}. Largest difference between the product and the sum over heads, `
    + `in all ${size} numbers: ${apart && apart.toExponential(1).replace("-", "−")}.`;
  return el("p", {}, code, words);
}
