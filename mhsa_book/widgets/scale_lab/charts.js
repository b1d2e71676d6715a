// @ts-check
// Three small drawings: how scores spread, how one query's weights fall, and shares by d_head.

import { SERIES } from "../shared/colours.js";
import { el, svg } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { POWERS, TOKENS } from "./random_vectors.js";
import { axisFor, histogram } from "./saturation.js";
import { digits } from "./words.js";

/** @import { Parts } from "../shared/elements.js" */
/** @import { Measured } from "./saturation.js" */
/** @typedef {ReturnType<typeof chart>} Chart */

const PLOT = { left: 26, right: 226, top: 10, bottom: 118 };
const BINS = 64;
export const LOOKS = {
  entropy: { stroke: SERIES[0] },
  gradient: { stroke: SERIES[5], "stroke-dasharray": "5 3" },
};

/**
 * A titled drawing with room for axes; `fill` replaces what it holds.
 * @param {string} title @param {Parts} note
 */
export function chart(title, ...note) {
  const picture = svg("svg", { viewBox: "0 0 240 136", role: "img", "aria-label": title });
  const above = el("p", { class: "mhsa-title" }, title);
  const below = el("p", { class: "mhsa-key" }, ...note);
  const node = el("div", { class: "mhsa-chart" }, above, picture, below);
  /** @type {(...parts: (SVGElement | SVGElement[])[]) => void} */
  const put = (...parts) => picture.replaceChildren(...parts.flat());
  return { node, put };
}

/** @type {(share: number) => number} */
const across = (share) => PLOT.left + share * (PLOT.right - PLOT.left);
/** @type {(share: number) => number} */
const up = (share) => PLOT.bottom - share * (PLOT.bottom - PLOT.top);

/** @type {(x: number, y: number, words: string, anchor?: string) => SVGElement} */
const words = (x, y, words, anchor = "middle") =>
  svg("text", { x, y, "text-anchor": anchor }, words);

/** Words below the axis. @type {(share: number, words: string, anchor?: string) => SVGElement} */
const below = (share, text, anchor) => words(across(share), 133, text, anchor);

/** @type {(d: string, more?: Record<string, unknown>) => SVGElement} */
const path = (d, more = {}) => svg("path", { d, fill: "none", stroke: "currentColor", ...more });

/** @type {(share: number, look: string) => SVGElement} */
const level = (share, look) => path(`M${PLOT.left} ${up(share)}H${PLOT.right}`, { class: look });

/** Lines at nothing, half and all. */
const percentages = () =>
  [0, 0.5, 1].flatMap((share) => [
    level(share, "mhsa-axis"),
    words(PLOT.left - 4, up(share) + 4, `${share}`, "end"),
  ]);

/**
 * A line through points.
 * @type {(points: [number, number][], more: Record<string, unknown>) => SVGElement}
 */
const through = (points, more) =>
  path(points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join(""), more);

/** @type {(heights: number[]) => SVGElement} */
function bars(heights) {
  const outlines = heights.map((height, i) => {
    const [left, right] = [0.06, 0.94].map((part) => across((i + part) / heights.length));
    return `M${left} ${PLOT.bottom}V${up(height)}H${right}V${PLOT.bottom}`;
  });
  return svg("path", { class: "mhsa-bars", d: outlines.join("") });
}

/**
 * Both equally high, so that only their widths differ: the scores, and variance 1.
 * @type {(chart: Chart, scores: Float64Array[], derived: number) => void}
 */
export function drawSpread({ put }, scores, derived) {
  const bound = axisFor(derived);
  const counts = histogram(scores, bound, BINS);
  const most = Math.max(...counts);
  const bell = upTo(241).map((i) => {
    const score = (i / 120 - 1) * bound;
    return /** @type {[number, number]} */ ([across(i / 240), up(Math.exp(-(score ** 2) / 2))]);
  });
  put(
    level(0, "mhsa-axis"),
    bars(counts.map((count) => count / most)),
    through(bell, { class: "mhsa-bell" }),
    below(0, digits(-bound), "start"),
    below(0.5, digits(0)),
    below(1, digits(bound), "end"),
  );
}

/** @type {(chart: Chart, weights: number[]) => void} */
export function drawSorted({ put }, weights) {
  const heights = [...weights].sort((a, b) => b - a);
  const ends = [below(0, "largest", "start"), below(1, "smallest", "end")];
  put(percentages(), bars(heights), level(1 / TOKENS, "mhsa-bell"), ends);
}

/**
 * Entropy and gradient at every power of two under the same rule, and where the reader is.
 * @type {(chart: Chart, d_head: number, means: Measured[]) => void}
 */
export function drawAcross({ put }, d_head, means) {
  /** @type {(size: number) => number} */
  const share = (size) => Math.log2(size) / 10;
  const most = 2 * (1 - 1 / TOKENS);
  /** @type {(values: number[], look: object) => SVGElement} */
  const curve = (values, look) => {
    const points = values.map((value, i) => [across(share(POWERS[i])), up(value)]);
    return through(/** @type {[number, number][]} */ (points), { "stroke-width": 2, ...look });
  };
  const entropies = means.map(({ share }) => share);
  const gradients = means.map(({ gradient }) => gradient / most);
  put(
    percentages(),
    path(`M${across(share(d_head))} ${PLOT.top}V${PLOT.bottom}`, { class: "mhsa-here" }),
    curve(entropies, LOOKS.entropy),
    curve(gradients, LOOKS.gradient),
    [1, 4, 16, 64, 256, 1024].map((size) => below(share(size), `${size}`)),
  );
}
