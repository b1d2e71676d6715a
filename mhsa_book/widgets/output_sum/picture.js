// @ts-check
// The whole drawing: bars above, W_O below, one column for each coordinate.

import { el, svg } from "../shared/elements.js";
import { coordinate, scaleOfBars } from "./bars.js";
import { block, owner, pattern } from "./blocks.js";
import { BARS, GUTTER, ROW, STEP, roomFor } from "./measures.js";
import { reach, stacked } from "./sums.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Ink } from "./words.js" */

/** @type {(x: number, text: string, y?: number) => SVGElement} */
function heading(x, text, y = BARS.top + BARS.height + 16) {
  return svg("text", { x, y, class: "mhsa-heading" }, text);
}

/** How to read the drawing. */
const key = () =>
  el(
    "p",
    { class: "mhsa-key" },
    "Above: y, one bar per coordinate; ◇ is the sum of its parts, a dashed line what it is with "
      + "all heads on. ",
    "Below: z of the token, and W_O, a block of rows per head. A square is as large as its number, "
      + "hollow if negative.",
  );

/**
 * `draw` shows one token: the parts of its y, their sums, and the heads that are off.
 * @param {Matrix[]} z @param {Matrix} W_O @param {string[]} columns names of the coordinates
 * @param {Ink[]} inks
 */
export function wholePicture(z, W_O, columns, inks) {
  const width = W_O.length / z.length;
  const scale = scaleOfBars(W_O[0].length);
  const room = roomFor(columns);
  const cells = columns.map((name, c) => coordinate(c, { name, room }, W_O.length, width, inks));
  const blocks = z.map((_, h) => block(h, W_O, width));
  const largest = Math.max(...z.flat(2).map(Math.abs)) || 1;
  const high = BARS.top + BARS.height + room + 30 + W_O.length * ROW + z.length * 8;
  const wide = GUTTER + cells.length * STEP + 4;
  const names = [heading(0, "W_O"), heading(GUTTER - 19, "z")];
  const owners = z.map((_, h) => owner(h, width, inks[h]));
  const lower = { transform: `translate(0 ${room})` };
  const radios = { role: "radiogroup", "aria-label": "Coordinates of y" };
  const style = `min-width:${0.7 * wide}px;max-width:${1.2 * wide}px`;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, style },
    svg("defs", {}, inks.map(pattern)),
    scale.node,
    svg("g", { "aria-hidden": "true" }, heading(0, "y", BARS.top + 8)),
    svg("g", { "aria-hidden": "true", ...lower }, names, owners),
    svg(
      "g",
      radios,
      cells.map(({ node }) => node),
    ),
    svg(
      "g",
      lower,
      blocks.map(({ node }) => node),
    ),
  );
  const about = { class: "mhsa-scroll", role: "group", "aria-label": "y and W_O" };
  const node = el("div", {}, el("div", about, picture), key());

  /** @type {(q: number, parts: Matrix[], total: Matrix, off: number[]) => void} */
  function draw(q, parts, total, off) {
    const at = scale.draw(reach(parts.map((part) => [part[q]])));
    const shares = z.map((rows) => rows[q].map((x) => x / largest));
    blocks.forEach((one, h) => one.draw(shares[h], off.includes(h)));
    cells.forEach((cell, c) => {
      const values = parts.map((part) => part[q][c]);
      const ends = stacked(values.map((value, h) => (off.includes(h) ? 0 : value)));
      const before = off.length ? values.reduce((a, b) => a + b, 0) : null;
      cell.draw(at, ends, total[q][c], before);
    });
  }
  return { node, cells: cells.map(({ node }) => node), narrow: wide < 500, draw };
}
