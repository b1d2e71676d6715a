// @ts-check
// A column for each rank with the parts that it holds, and arrows for what is sent.

import { svg, uid } from "../shared/elements.js";

/** @import { Part, Row } from "./rank_rows.js" */

const LABELS = 92;
const STRIP = 15;
const GAP = 8;
const HEIGHTS = { title: 24, part: 37, lane: 54 };
const MOST_COLUMNS = 8;

/** Width of a column: narrow on a phone. @type {(width: number) => number} */
const columnIn = (width) => (width < 480 ? 65 : 86);

/** The ranks that have room, the last one among them. @type {(ranks: number, width: number) =>
 *   number[]} */
export function ranksIn(ranks, width) {
  const room = Math.max(2, Math.min(MOST_COLUMNS, Math.floor((width - LABELS) / columnIn(width))));
  const all = Array.from({ length: ranks }, (_, i) => i);
  return ranks <= room ? all : [...all.slice(0, room - 1), ranks - 1];
}

/**
 * A name, in two lines where it has two parts.
 * @type {(name: string, y: number, look: string | null) => SVGElement[]}
 */
const label = (name, y, look) =>
  name.split(": ").map((words, i) => svg("text", { x: 0, y: y + 14 * i, class: look }, words));

/** "0–3", or all of them. @type {(part: Part) => string} */
const rangeOf = ({ first, end, count }) => {
  if (end - first === count) return "all";
  return end - first === 1 ? `${first}` : `${first}–${end - 1}`;
};

/** @type {(part: Part, x: number, y: number, width: number, hatched: string) => SVGElement[]} */
function strip(part, x, y, width, hatched) {
  const at = { y, height: STRIP };
  const from = x + (width * part.first) / part.count;
  const wide = Math.max(2, (width * (part.end - part.first)) / part.count);
  const held = { ...at, x: Math.min(from, x + width - 2), width: wide };
  const words = rangeOf(part) + (part.copy ? ", copy" : "");
  const look = part.copy ? { style: hatched, class: "mhsa-copy" } : { class: "mhsa-own" };
  return [
    svg("rect", { ...at, x, width, class: "mhsa-whole" }),
    svg("rect", { ...held, ...look }),
    svg("text", { x: x + width / 2, y: y + STRIP + 12, class: "mhsa-range" }, words),
  ];
}

/**
 * Arrows of a lane, from the middles of the columns above to those below.
 * @type {(kind: string, middles: number[], y: number) => string[]}
 */
function arrows(kind, middles, y) {
  const [top, bottom] = [y + 2, y + HEIGHTS.lane - 8];
  const [first, last] = [middles[0], middles[middles.length - 1]];
  const [centre, half] = [(first + last) / 2, (top + bottom) / 2];
  if (kind === "sum") {
    const up = middles.map((x) => `M${x} ${top}L${centre} ${half - 9}`);
    return [...up, ...middles.map((x) => `M${centre} ${half + 9}L${x} ${bottom}`)];
  }
  if (kind === "exchange") {
    return middles.flatMap((x) => middles.map((to) => `M${x} ${top}L${to} ${bottom}`));
  }
  const on = middles.slice(1).map((x, i) => `M${middles[i] + 8} ${half}H${x - 8}`);
  return [...on, `M${last} ${half + 6}V${bottom}H${first}V${half + 6}`];
}

/** @type {(kind: string, middles: number[], y: number, arrow: string) => SVGElement[]} */
function lane(kind, middles, y, arrow) {
  const about = { x: middles[0], y: y + 30, class: "mhsa-range" };
  if (middles.length === 1) return [svg("text", about, "nothing")];
  const drawn = arrows(kind, middles, y).map((d) =>
    svg("path", { d, class: "mhsa-sends", "marker-end": arrow }),
  );
  if (kind === "exchange") return drawn;
  const cy = y + HEIGHTS.lane / 2 - 3;
  if (kind === "round") {
    return [...drawn, ...middles.map((cx) => svg("circle", { cx, cy, r: 5, class: "mhsa-plus" }))];
  }
  const cx = (middles[0] + middles[middles.length - 1]) / 2;
  const plus = svg("circle", { cx, cy, r: 9, class: "mhsa-plus" });
  return [...drawn, plus, svg("text", { x: cx, y: cy + 5, class: "mhsa-range mhsa-sign" }, "+")];
}

/**
 * A column for each of these ranks, in a place of some width.
 * @type {(rows: Row[], ranks: number[], room: number, says: string) => SVGElement}
 */
export function ranksPicture(rows, ranks, room, says) {
  const column = columnIn(room);
  const [copies, arrow] = [uid(), uid()];
  const about = { id: copies, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  const hatch = svg("path", { d: "M0 6L6 0", class: "mhsa-hatch" });
  const tip = svg("path", { d: "M0 0L6 3L0 6z", class: "mhsa-tip" });
  const head = { id: arrow, viewBox: "0 0 6 6", refX: 5, refY: 3, orient: "auto", markerWidth: 6 };
  const left = ranks.map((_, i) => LABELS + i * column);
  const middles = left.map((x) => x + (column - GAP) / 2);
  /** @type {SVGElement[]} */
  const parts = [
    svg("defs", {}, svg("pattern", about, hatch), svg("marker", head, tip)),
    ...middles.map((x, i) => svg("text", { x, y: 14, class: "mhsa-title" }, `rank ${ranks[i]}`)),
  ];
  let y = HEIGHTS.title;
  for (const { name, parts: held, lane: kind } of rows) {
    const down = kind ? HEIGHTS.lane / 2 : STRIP - 3;
    parts.push(...label(name, y + down, kind ? "mhsa-sent" : null));
    if (held) {
      const look = `fill:url(#${copies})`;
      parts.push(...left.flatMap((x, i) => strip(held[ranks[i]], x, y, column - GAP, look)));
    } else parts.push(...lane(kind ?? "", middles, y, `url(#${arrow})`));
    y += kind ? HEIGHTS.lane : HEIGHTS.part;
  }
  const width = LABELS + ranks.length * column;
  const size = { width, height: y, viewBox: `0 0 ${width} ${y}` };
  return svg("svg", { ...size, role: "img", "aria-label": says }, parts);
}
