// @ts-check
// q, k and v that a head makes of a word: three rows of squares, as full as the number is large.

import { svg } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Head } from "./attended.js" */

export const MADE = /** @type {const} */ (["q", "k", "v"]);
const [ACROSS, DOWN, SIDE] = [9, 10, 7.5];
/** How wide a row is. @type {(d_head: number) => number} */
export const stripWidth = (d_head) => ACROSS * d_head;
export const STRIPS = DOWN * MADE.length;

/** The largest number of a wire, whatever its sign. @type {(all: Matrix[]) => number} */
export const largest = (all) => Math.max(...all.flat(2).map(Math.abs));

/** Squares of one word. @param {number} d_head @param {number[]} most of each wire */
export function strips(d_head, most) {
  const rows = MADE.map((_, r) =>
    upTo(d_head).map((i) =>
      svg("rect", {
        class: "mhsa-square",
        x: (i - d_head / 2) * ACROSS,
        y: r * DOWN,
        width: SIDE,
        height: SIDE,
      }),
    ),
  );
  const asks = { class: "mhsa-asking", x: -stripWidth(d_head) / 2 - 2.5, y: -2.5 };
  const frame = svg("rect", { ...asks, width: stripWidth(d_head) + 3.5, height: SIDE + 5 });
  const filled = svg("g", { class: "mhsa-made" }, rows.flat());
  const node = svg(
    "g",
    {},
    svg("path", { class: "mhsa-place", d: outlines(d_head) }),
    filled,
    frame,
  );

  /** @type {(head: Head, w: number, asking: boolean) => void} */
  function draw(head, w, asking) {
    MADE.forEach((wire, r) =>
      head[wire][w].forEach((value, i) => {
        const [square, size] = [rows[r][i], `${Math.abs(value) / most[r]}`];
        square.setAttribute("fill-opacity", value > 0 ? size : "0");
        square.setAttribute("stroke-opacity", value === 0 ? "0" : size);
      }),
    );
    frame.setAttribute("display", asking ? "inline" : "none");
  }
  return { node, draw };
}

/** The places of all squares, before they are filled. @type {(d_head: number) => string} */
const outlines = (d_head) =>
  MADE.flatMap((_, r) =>
    upTo(d_head).map((i) => `M${(i - d_head / 2) * ACROSS} ${r * DOWN}h${SIDE}v${SIDE}h${-SIDE}z`),
  ).join("");
