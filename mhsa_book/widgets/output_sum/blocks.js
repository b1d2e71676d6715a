// @ts-check
// Below: W_O, a block of rows for every head, and to its left the numbers of z that they multiply.

import { svg } from "../shared/elements.js";
import { GUTTER, ROW, STEP, rowPlace } from "./measures.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Ink } from "./words.js" */

/**
 * A square whose area tells a number from −1 to 1.
 * @type {(x: number, y: number, value: number) => SVGElement}
 */
function square(x, y, value) {
  const side = 12 * Math.sqrt(Math.abs(value));
  const [size, corner] = value < 0 ? [Math.max(side - 1.5, 0), 0.75] : [side, 0];
  const at = { x: x - side / 2 + corner, y: y - side / 2 + corner, width: size, height: size };
  return svg("rect", { ...at, class: value < 0 ? "mhsa-minus" : "mhsa-plus" });
}

/**
 * The rows of W_O that a head owns; `draw` puts the numbers of z before them.
 * @param {number} h @param {Matrix} W_O @param {number} width
 */
export function block(h, W_O, width) {
  const largest = Math.max(...W_O.flat().map(Math.abs)) || 1;
  const rows = W_O.slice(h * width, (h + 1) * width);
  const column = svg("g");
  /** @type {(i: number) => number} */
  const height = (i) => rowPlace(h * width + i, width);
  const squares = rows.flatMap((row, i) =>
    row.map((w, c) => square(GUTTER + (c + 0.5) * STEP, height(i), w / largest)),
  );
  const node = svg("g", { class: "mhsa-block", "aria-hidden": "true" }, column, squares);
  /** @type {(numbers: number[], off: boolean) => void} */
  const draw = (numbers, off) => {
    node.classList.toggle("mhsa-off", off);
    const dash = (/** @type {number} */ i) =>
      svg("path", { class: "mhsa-rule", d: `M${GUTTER - 18} ${height(i)}h6` });
    const parts = numbers.map((x, i) => (off ? dash(i) : square(GUTTER - 15, height(i), x)));
    column.replaceChildren(...parts);
  };
  return { node, draw };
}

/**
 * The name of a head beside its block of rows.
 * @type {(h: number, width: number, ink: Ink) => SVGElement}
 */
export function owner(h, width, { id }) {
  const top = rowPlace(h * width, width) - ROW / 2;
  const bottom = rowPlace((h + 1) * width - 1, width) + ROW / 2;
  const bar = { x: 50, y: top, width: 9, height: bottom - top };
  const name = { x: 46, y: (top + bottom) / 2 + 4, "text-anchor": "end" };
  return svg(
    "g",
    {},
    svg("rect", { ...bar, fill: `url(#${id})`, class: "mhsa-bar" }),
    svg("text", name, `head ${h}`),
  );
}

/** The fill of a part: its colour under its hatch. @type {(ink: Ink) => SVGElement} */
export function pattern({ id, colour, hatch }) {
  const dotted = hatch.endsWith("h.1");
  const stroke = { stroke: "#111", "stroke-opacity": 0.55, "stroke-width": dotted ? 2.4 : 1 };
  return svg(
    "pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("rect", { width: 6, height: 6, fill: colour }),
    svg("path", { d: hatch, ...stroke, "stroke-linecap": "round" }),
  );
}
