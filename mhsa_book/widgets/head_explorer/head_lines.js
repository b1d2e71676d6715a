// @ts-check
// What is drawn of a large head besides its pixels: labels, numbers, lines and marks.

import { weightColour, weightInk } from "../shared/colours.js";
import { svg } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { spelled } from "../shared/tokens.js";
import { differenceColour } from "./weight_pixels.js";

/** @import { Box } from "./layout.js" */
/** @import { Token, Weights } from "./measures.js" */
/**
 * A head as it is drawn: as a map, or as lines between two columns of tokens; `signed` weights are
 * differences. `sides` are the names of its axes, and what a screen reader hears of them.
 * @typedef {{ weights: Weights, queries: Token[], keys: Token[], lines: boolean, signed: boolean,
 *   sides: Sides, box: Box }} Large
 */
/** @typedef {{ down: string, across: string, heard: string }} Sides */

const FAINTEST = 0.05;

/** @type {(head: Large, row: number, column: number) => number} */
export const weightAt = ({ weights, keys }, row, column) => weights[row * keys.length + column];

/**
 * The name of a query or a key.
 * @type {(head: Large, i: number, isKey: boolean, marked?: string) => SVGElement}
 */
export function label({ box, queries, keys, lines }, i, isKey, marked) {
  const { left, top, cell, right } = box;
  const middle = (i + 0.5) * cell + 4;
  const above = { transform: `translate(${left + middle} ${top - 6}) rotate(-90)` };
  const beside = lines ? { x: right + 6, y: top + middle } : above;
  const place = isKey ? beside : { x: left - 6, y: top + middle, "text-anchor": "end" };
  const { token } = (isKey ? keys : queries)[i];
  return svg("text", { ...place, class: marked }, spelled(token));
}

/**
 * Names of all tokens for which there is room, and of the axes.
 * @type {(head: Large) => SVGElement[]}
 */
export function names(head) {
  const { box, queries, keys, lines, sides } = head;
  const every = Math.ceil(10 / box.cell);
  const shown = [queries, keys].flatMap((tokens, side) =>
    tokens.map((_, i) => (i % every ? null : label(head, i, side === 1))),
  );
  /** @type {(text: string, x: number, y: number, anchor?: string) => SVGElement} */
  const axis = (text, x, y, anchor) =>
    svg("text", { class: "mhsa-axis", x, y, "text-anchor": anchor }, text);
  return [
    axis(sides.down, box.left - 6, box.top - 8, "end"),
    lines ? axis(sides.across, box.right + 6, box.top - 8) : axis(sides.across, box.left, 10),
    svg("g", {}, ...shown),
  ];
}

/** Numbers in the cells, where these are few and large. @type {(head: Large) => SVGElement[]} */
export function numbers({ weights, box, queries, keys, signed }) {
  const { left, top, cell } = box;
  const n = keys.length;
  if (Math.max(queries.length, n) > 8 || cell < 30) return [];
  return Array.from(weights, (weight, i) => {
    const x = left + ((i % n) + 0.5) * cell;
    const y = top + (Math.floor(i / n) + 0.5) * cell + 4;
    const look = weight === 0 ? "mhsa-zero" : "mhsa-weight";
    const fill = weightInk(signed ? 0 : weight);
    const about = { x, y, "text-anchor": "middle", class: look, fill };
    return svg("text", about, weight === 0 ? "0" : fixed(weight));
  });
}

/**
 * A line from a query to a key, as thick as its weight.
 * @type {(head: Large, row: number, column: number, ink: number) => SVGElement}
 */
function strand(head, row, column, ink) {
  const { left, top, cell, right } = head.box;
  const weight = weightAt(head, row, column);
  const from = { x1: left, y1: top + (row + 0.5) * cell };
  const to = { x2: right, y2: top + (column + 0.5) * cell };
  const thick = { "stroke-width": Math.max(0.4, 6 * weight) };
  const opacity = { "stroke-opacity": Math.max(0.12, weight * ink) };
  return svg("line", { class: "mhsa-strand", ...from, ...to, ...thick, ...opacity });
}

/** Every line that can be seen. @type {(head: Large) => SVGElement[]} */
export function strands(head) {
  const n = head.keys.length;
  return Array.from(head.weights, (weight, i) => ({ weight, i }))
    .filter(({ weight }) => !(weight < FAINTEST))
    .map(({ i }) => strand(head, Math.floor(i / n), i % n, 0.28));
}

/**
 * The lines of one query (one key, `byKey`) drawn strong, and the number of one of them.
 * @type {(head: Large, row: number, column: number, byKey: boolean) => SVGElement[]}
 */
export function fan(head, row, column, byKey) {
  const { top, cell, width } = head.box;
  const strong = (byKey ? head.queries : head.keys)
    .map((_, i) => (byKey ? [i, column] : [row, i]))
    .filter(([r, c]) => weightAt(head, r, c) > 0)
    .map(([r, c]) => strand(head, r, c, 1));
  const place = { x: width - 2, y: top + (column + 0.5) * cell + 4, "text-anchor": "end" };
  const number = fixed(weightAt(head, row, column));
  return [...strong, svg("text", { class: "mhsa-marked", ...place }, number)];
}

/**
 * Frames around one weight and its row (its column, `byKey`).
 * @type {(head: Large, row: number, column: number, byKey: boolean) => SVGElement[]}
 */
export function frames({ box }, row, column, byKey) {
  const { left, top, cell, right, bottom } = box;
  const square = { x: left + column * cell, y: top + row * cell, width: cell, height: cell };
  const down = { ...square, y: top, height: bottom - top };
  const across = { ...square, x: left, width: right - left };
  return [
    svg("rect", { ...(byKey ? down : across), class: "mhsa-band" }),
    svg("rect", { ...square, class: "mhsa-under" }),
    svg("rect", { ...square, class: "mhsa-here" }),
  ];
}

/**
 * Pixels as squares, for a picture by itself; zeros stay hatched.
 * @type {(head: Large) => SVGElement[]}
 */
export function squares({ weights, box, keys, lines, signed }) {
  if (lines) return [];
  const { left, top, cell, right, bottom } = box;
  const n = keys.length;
  const whole = { x: left, y: top, width: right - left, height: bottom - top };
  const shown = Array.from(weights, (weight, i) => ({ weight, i })).filter(
    ({ weight }) => signed || weight !== 0,
  );
  const parts = shown.map(({ weight, i }) => {
    const fill = signed ? differenceColour(weight) : weightColour(weight);
    const at = { x: left + (i % n) * cell, y: top + Math.floor(i / n) * cell };
    return svg("rect", { ...at, width: cell, height: cell, fill });
  });
  return [svg("rect", { ...whole, fill: "url(#zero)" }), ...parts];
}
