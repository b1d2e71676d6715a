// @ts-check
// Two pictures of a budget: heads against width, and the columns of W_Q in bands.

import { el, svg } from "../shared/elements.js";
import { counted, grouped, short, upTo } from "../shared/numbers.js";
import { logScale } from "../shared/scales.js";

/** @import { Shape } from "./budget.js" */
/** A layer that was trained. @typedef {{ n_heads: number, d_head: number, said: string }} Run */
/** @typedef {{ x: (value: number) => number, y: (value: number) => number }} Axes */

const MOST_BANDS = 128;
const CHART = { height: 270, left: 46, right: 30, top: 24, bottom: 40 };
const FLOOR = CHART.height - CHART.bottom;
const WIDTHS = [1, 8, 64, 512, 4096, 32_768, 262_144, 2_097_152];

/** @type {(text: string, at: Record<string, unknown>) => SVGElement} */
const label = (text, at) => svg("text", at, text);

/**
 * Powers of two along both axes.
 * @type {(axes: Axes, farthest: number, most: number, right: number) => SVGElement[]}
 */
function ticks({ x, y }, farthest, most, right) {
  const across = upTo(Math.floor(Math.log2(farthest)) + 1).map((i) => {
    const at = { x: x(2 ** i), y: FLOOR + 16, "text-anchor": "middle", class: "mhsa-tick" };
    return label(`${2 ** i}`, at);
  });
  const up = WIDTHS.filter((v) => v <= most).flatMap((v) => {
    const at = { x: CHART.left - 6, y: y(v) + 4, "text-anchor": "end", class: "mhsa-tick" };
    const line = { x1: CHART.left, x2: right, y1: y(v), y2: y(v), class: "mhsa-grid" };
    return [svg("line", line), label(v < 1e5 ? `${v}` : short(v), at)];
  });
  return [...up, ...across];
}

/**
 * A ring for each run; numbers that would run into others are left out.
 * @type {(axes: Axes, trained: Run[], right: number) => (SVGElement | null)[]}
 */
function rings({ x, y }, trained, right) {
  /** @type {[number, number][]} */
  const told = [];
  return trained.flatMap((run) => {
    const [cx, cy] = [x(run.n_heads), y(run.d_head)];
    const free = told.every(([left, line]) => Math.abs(cx - left) > 62 || Math.abs(cy - line) > 12);
    if (free) told.push([cx, cy]);
    const ring = svg("circle", { cx, cy, r: 4, class: "mhsa-run" });
    const late = cx + 62 > right; // a number that would be cut off stands at the left
    const side = late ? { x: cx - 9, "text-anchor": "end" } : { x: cx + 9 };
    const at = { ...side, y: late ? cy + 12 : cy - 6, class: "mhsa-tick" };
    return [ring, free ? label(run.said, at) : null];
  });
}

/**
 * A line is drawn for a budget that several runs have.
 * @type {(all: number[], one: number) => boolean}
 */
const repeated = (all, one) => all.filter((other) => other === one).length > 1;

/** Names of the axes. @type {(right: number) => SVGElement[]} */
function axisNames(right) {
  const { left, top, height } = CHART;
  const middle = (top + FLOOR) / 2;
  const turned = { "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` };
  return [
    label("n_heads", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }),
    label("d_head", { x: 12, y: middle, ...turned }),
  ];
}

/**
 * Heads across, width up, both in powers of two; models of one budget lie on one falling line.
 * @type {(sizes: Shape, trained: Run[], width: number) => SVGElement}
 */
export function tradeOff({ n_heads, d_head }, trained, width) {
  const { height, left, top } = CHART;
  const right = width - CHART.right;
  const most = Math.max(512, n_heads * d_head);
  const farthest = Math.max(64, n_heads);
  const axes = { x: logScale(1, farthest, left, right), y: logScale(1, most, FLOOR, top) };
  const { x, y } = axes;
  /** @type {(product: number, kind: string) => SVGElement} */
  const line = (product, kind) => {
    const last = Math.min(product, farthest);
    const ends = { x1: x(1), y1: y(product), x2: x(last), y2: y(product / last) };
    return svg("line", { ...ends, class: kind });
  };
  const [px, py] = [x(n_heads), y(d_head)];
  const products = trained.map((run) => run.n_heads * run.d_head);
  const budgets = products.filter(
    (one, i) => products.indexOf(one) === i && repeated(products, one),
  );
  const marked = `with ${n_heads} heads of width ${d_head} marked.`;
  const says = `Width of a head over the number of heads, ${marked}`;
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says },
    ticks(axes, farthest, most, right),
    budgets.map((product) => line(product, "mhsa-paper-line")),
    line(n_heads * d_head, "mhsa-budget-line"),
    rings(axes, trained, right),
    svg("path", { d: `M${px} ${py}V${FLOOR}M${px} ${py}H${left}`, class: "mhsa-drop" }),
    svg("circle", { cx: px, cy: py, r: 7, class: "mhsa-now" }),
    axisNames(right),
  );
}

/** The columns of W_Q, one band for each head. @type {(sizes: Shape) => HTMLElement} */
export function bandsOf({ d_model, n_heads, d_head }) {
  const shown = Math.min(n_heads, MOST_BANDS);
  const bands = upTo(shown).map((i) => {
    const at = { x: (100 * i) / shown, y: 0, width: 100 / shown, height: 10 };
    return svg("rect", { ...at, class: i % 2 ? "mhsa-odd" : "mhsa-even" });
  });
  const more = n_heads > shown ? ` (${shown} of them drawn)` : "";
  const size = `${grouped(d_model)} × ${grouped(n_heads * d_head)}`;
  const words = `W_Q, ${size}: ${counted(n_heads, "band")} of ${counted(d_head, "column")}${more}`;
  const about = { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
  return el("div", {}, svg("svg", about, bands), el("p", { class: "mhsa-quiet" }, words));
}
