// @ts-check
// One row per wire: its axes as chips, a box in proportion, and what it costs.

import { el, svg } from "../shared/elements.js";
import { grouped, short, upTo } from "../shared/numbers.js";

/** @import { Row } from "./ledger.js" */
/** Colours by axis. @typedef {Record<string, string>} Colours */

const BOX = { side: 32, sheets: 4, shift: 3 };

/**
 * Sides of a box: they grow with the square root of its last two sizes, on one scale for all.
 * @type {(shape: number[], largest: number) => { width: number, height: number }}
 */
export function boxSides(shape, largest) {
  const [down, across] = shape.slice(-2);
  /** @type {(size: number) => number} */
  const side = (size) => Math.max(1.5, BOX.side * Math.sqrt(size / largest));
  return { width: side(across), height: side(down) };
}

/** @type {(row: Row, largest: number, colours: Colours) => SVGElement} */
function box(row, largest, colours) {
  const { width, height } = boxSides(row.shape, largest);
  const leading = row.shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const sheets = Math.min(leading, BOX.sheets);
  const quadratic = row.axes.includes("query") && row.axes.includes("key");
  const [down, across] = row.axes.slice(-2).map((axis) => colours[axis]);
  const look = quadratic ? "mhsa-square" : "mhsa-sheet";
  const dashes = row.result === "view" ? "3 2" : null;
  /** @type {(i: number) => SVGElement} */
  const sheet = (i) => {
    const [x, y] = [2 + i * BOX.shift, 2 + (sheets - 1 - i) * BOX.shift];
    return svg(
      "g",
      { transform: `translate(${x} ${y})` },
      svg("rect", { width, height, class: look, "stroke-dasharray": dashes }),
      svg("path", { d: `M0 0H${width}`, stroke: across, "stroke-width": 3 }),
      svg("path", { d: `M0 0V${height}`, stroke: down, "stroke-width": 3 }),
    );
  };
  const room = BOX.shift * (BOX.sheets - 1) + 5;
  const size = { width: BOX.side + room, height: BOX.side + room }; // rows do not move
  const drawn = upTo(sheets).map((i) => sheet(sheets - 1 - i));
  return svg("svg", { class: "mhsa-box", ...size, "aria-hidden": "true" }, drawn);
}

/**
 * Roles are written out: on a narrow figure the rows become blocks, and stay a table for readers
 * who listen.
 * @type {(row: Row, largest: number, colours: Colours) => HTMLElement}
 */
export function wireRow(row, largest, colours) {
  const chips = row.axes.flatMap((axis, i) => {
    const size = el("b", {}, grouped(row.shape[i]));
    return [
      el("span", { class: "mhsa-chip", style: `--axis:${colours[axis]}` }, `${axis} `, size),
      " ",
    ];
  });
  /** @type {(text: string) => HTMLElement} */
  const number = (text) => {
    const look = text ? "mhsa-number" : "mhsa-number mhsa-none";
    return el("td", { role: "cell", class: look }, text || "–");
  };
  return el(
    "tr",
    { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, el("code", {}, row.wire)),
    el("td", { role: "cell", class: "mhsa-chips" }, chips),
    el("td", { role: "cell" }, box(row, largest, colours)),
    el("td", { role: "cell" }, row.result),
    number(short(row.bytes)),
    number(row.flops ? short(row.flops) : ""),
    number(row.parameters ? `${row.weight} ${short(row.parameters)}` : ""),
  );
}
