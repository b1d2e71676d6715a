// @ts-check
// Above: y, a bar for every coordinate, cut into what each head added.

import { svg } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { BARS, GUTTER, STEP, rowPlace } from "./measures.js";
import { ticks } from "./sums.js";

/** @import { Bar } from "./sums.js" */
/** @import { Ink } from "./words.js" */
/** The height of a value. @typedef {(value: number) => number} At */

/** The scale of the bars; it holds for a token, whichever heads are off. @param {number} n */
export function scaleOfBars(n) {
  const node = svg("g", { "aria-hidden": "true" });
  /** @type {(reach: [low: number, high: number]) => At} */
  const draw = (reach) => {
    const values = ticks(...reach);
    const [low, high] = [Math.min(...reach, ...values), Math.max(...reach, ...values)];
    /** @type {At} */
    const at = (value) => BARS.top + (BARS.height * (high - value)) / (high - low || 1);
    const decimals = Math.max(0, -Math.floor(Math.log10(values[1] - values[0] || 1)));
    const marks = values.map((value) => {
      const look = Math.abs(value) < 1e-9 ? "mhsa-zero" : "mhsa-rule";
      const d = `M${GUTTER - 4} ${at(value)}h${n * STEP + 4}`;
      const place = { x: GUTTER - 8, y: at(value) + 4, "text-anchor": "end" };
      const number = svg("text", place, fixed(value, Math.min(decimals, 20)));
      return svg("g", {}, svg("path", { class: look, d }), number);
    });
    node.replaceChildren(...marks);
    return at;
  };
  return { node, draw };
}

/**
 * Put a part and its mark at their place; the mark is left out where there is no room.
 * @type {(bar: SVGElement, mark: SVGElement, ends: [number, number], sum: number) => void}
 */
function drawPart(bar, mark, [one, other], sum) {
  const [top, height] = [Math.min(one, other), Math.abs(one - other)];
  bar.setAttribute("y", `${top}`);
  bar.setAttribute("height", `${height}`);
  const middle = top + height / 2;
  const clear = height > 13 && Math.abs(middle - sum) > 10; // of its edges, and of the sum
  mark.setAttribute("display", clear ? "inline" : "none");
  if (clear) mark.setAttribute("y", `${middle + 4}`);
}

/**
 * One coordinate: its bar, its name, and room for its column of W_O below; where there is `room`
 * for it, the name stands upright.
 * @param {number} c @param {{ name: string, room: number }} called
 * @param {number} n rows of W_O @param {number} width of a head @param {Ink[]} inks
 */
export function coordinate(c, { name, room }, n, width, inks) {
  const [left, centre] = [GUTTER + c * STEP, GUTTER + (c + 0.5) * STEP];
  const bars = inks.map(({ id }) => {
    const at = { x: left + 3, width: STEP - 6 };
    return svg("rect", { ...at, class: "mhsa-bar", fill: `url(#${id})` });
  });
  const marks = inks.map((_, i) => {
    const about = { x: centre, class: "mhsa-mark", "text-anchor": "middle" };
    return svg("text", about, i < n / width ? `${i}` : "b");
  });
  const all = svg("path", { class: "mhsa-all" });
  const sum = svg("path", { class: "mhsa-sum", d: "M0 -5L5 0L0 5L-5 0Z" });
  const hit = { x: left, y: 0, width: STEP, height: rowPlace(n, width) + room };
  const below = BARS.top + BARS.height;
  const upright = { transform: `translate(${centre + 4} ${below + 8}) rotate(-90)` };
  const flat = { x: centre, y: below + 16 };
  const label = { ...(room ? upright : flat), "text-anchor": room ? "end" : "middle" };
  const node = svg(
    "g",
    { role: "radio", class: "mhsa-coordinate" },
    svg("rect", { class: "mhsa-hit", ...hit }),
    bars,
    marks,
    all,
    sum,
    svg("text", label, name),
  );
  /**
   * `before` is what y is with all heads on, where some are off.
   * @type {(at: At, ends: Bar[], y: number, before: number | null) => void}
   */
  const draw = (at, ends, y, before) => {
    node.setAttribute("aria-label", `coordinate ${name}: y is ${fixed(y, 3)}`);
    ends.forEach(({ from, to }, i) => drawPart(bars[i], marks[i], [at(from), at(to)], at(y)));
    all.setAttribute("d", before === null ? "" : `M${left + 1} ${at(before)}h${STEP - 2}`);
    sum.setAttribute("transform", `translate(${centre} ${at(y)})`);
  };
  return { node, draw };
}
