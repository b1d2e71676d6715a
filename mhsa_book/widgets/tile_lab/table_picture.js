// @ts-check
// The table of one head, cut into tiles: which are skipped, done, to come, and which is there now.

import { el, svg, uid } from "../shared/elements.js";
import { kindOfTile } from "./tiles.js";

/** @import { Plan, TileRow } from "./tiles.js" */
/** @typedef {{ row: number, column: number }} TilePlace */

const SIDE = 300;
const EDGE = 26;
const SIZE = SIDE + EDGE + 2;
const LEAST = 5;

/** @type {(x: number, y: number, width: number, height: number) => string} */
const block = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

/** Tiles `first` to `end` of a row. @typedef {[row: number, first: number, end: number]} Run */

/** @type {(runs: Run[], cell: number) => string} */
const pathOf = (runs, cell) =>
  runs.map(([i, from, to]) => block(from * cell, i * cell, (to - from) * cell, cell)).join("");

/** Tiles of a row that have to ask the mask: some at its beginning, some at its end.
 * @type {(plan: Plan, row: TileRow, i: number) => Run[]}
 */
function askingRuns({ tile, band }, { first, end, partial }, i) {
  let [from, left] = [first, partial];
  while (left > 0 && from < end && !kindOfTile(i, from, tile, band).all)
    [from, left] = [from + 1, left - 1];
  return [
    [i, first, from],
    [i, end - left, end],
  ];
}

/** Hatched and dotted ground, under names of their own. */
function grounds() {
  const [hatch, dots] = [uid(), uid()];
  const about = { width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  const node = svg(
    "defs",
    {},
    svg("pattern", { id: hatch, ...about }, svg("path", { d: "M0 6L6 0", class: "mhsa-hatch" })),
    svg(
      "pattern",
      { id: dots, ...about },
      svg("circle", { cx: 3, cy: 3, r: 1.3, class: "mhsa-dot" }),
    ),
  );
  return { node, hatch: `fill:url(#${hatch})`, dots: `fill:url(#${dots})` };
}

/** Lines between tiles that are large enough. @type {(side: number, cell: number) => string} */
function gridOf(side, cell) {
  if (cell < LEAST) return "";
  const lines = Array.from({ length: side - 1 }, (_, i) => (i + 1) * cell);
  return lines.map((at) => `M0 ${at}H${SIDE}M${at} 0V${SIDE}`).join("");
}

/**
 * Keys across, queries down; bars at the edges are what is in fast memory now.
 * @type {(plan: Plan, rows: TileRow[], place: TilePlace, says: string) => SVGElement}
 */
export function tablePicture(plan, rows, { row, column }, says) {
  const side = rows.length;
  const cell = SIDE / side;
  /** @type {Run[]} */
  const all = rows.map(({ first, end }, i) => [i, first, end]);
  /** @type {Run[]} */
  const done = [...all.slice(0, row), [row, rows[row].first, column]];
  const ground = grounds();
  const shown = Math.max(cell, LEAST);
  /** @type {(at: number) => number} */
  const from = (at) => Math.min((at + 0.5) * cell - shown / 2, SIDE - shown);
  const [x, y] = [Math.max(0, from(column)), Math.max(0, from(row))];
  const asking = rows.flatMap((one, i) => askingRuns(plan, one, i));
  const about = { role: "img", "aria-label": says, viewBox: `0 0 ${SIZE} ${SIZE}` };
  const middle = EDGE + SIDE / 2;
  const words = { "text-anchor": "middle", y: 11 };
  return svg(
    "svg",
    about,
    ground.node,
    svg("text", { x: middle, ...words }, "keys →"),
    svg("text", { x: -middle, ...words, transform: "rotate(-90)" }, "← queries"),
    svg(
      "g",
      { transform: `translate(${EDGE} ${EDGE})` },
      svg("rect", { width: SIDE, height: SIDE, style: ground.hatch, class: "mhsa-outline" }),
      svg("path", { d: pathOf(all, cell), class: "mhsa-tocome" }),
      svg("path", { d: pathOf(done, cell), class: "mhsa-done" }),
      svg("path", { d: gridOf(side, cell), class: "mhsa-between" }),
      svg("path", { d: `M${x} ${y}H0M${x} ${y}V0`, class: "mhsa-drop" }),
      svg("rect", { x: -9, y, width: 7, height: shown, class: "mhsa-fast" }),
      svg("rect", { x, y: -9, width: shown, height: 7, class: "mhsa-fast" }),
      svg("rect", { x, y, width: shown, height: shown, class: "mhsa-lit" }),
      svg("path", { d: pathOf(asking, cell), style: ground.dots }),
    ),
  );
}

/** What the grounds mean; a mask has two more. @type {(masked: boolean) => HTMLElement} */
export function tableLegend(masked) {
  const ground = grounds();
  /** @type {(words: string, look: object) => HTMLElement} */
  const entry = (words, look) => {
    const box = svg("rect", { x: 1, y: 1, width: 14, height: 14, ...look });
    const outline = svg("rect", { x: 1, y: 1, width: 14, height: 14, class: "mhsa-outline" });
    const sample = svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, box, outline);
    return el("span", {}, sample, words);
  };
  const asking = [
    entry("asks the mask", { style: ground.dots }),
    entry("skipped", { style: ground.hatch }),
  ];
  return el(
    "div",
    { class: "mhsa-legend" },
    entry("in fast memory now", { class: "mhsa-lit" }),
    entry("done", { class: "mhsa-done" }),
    entry("to come", { class: "mhsa-tocome" }),
    masked ? asking : [],
    svg("svg", { width: 0, height: 0, "aria-hidden": "true" }, ground.node),
  );
}
