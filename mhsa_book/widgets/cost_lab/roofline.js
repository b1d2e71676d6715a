// @ts-check
// The roofline: how fast a stage can be, from its FLOPs per byte; in words, and as a picture.

import { svg } from "../shared/elements.js";
import { fixed, grouped, short } from "../shared/numbers.js";
import { logScale } from "../shared/scales.js";

/** @import { Accelerator, StageWork } from "../shared/costs.js" */
/** @typedef {(value: number) => number} Scale */

const ROOF = { height: 330, left: 52, right: 16, top: 26, bottom: 42 };
const INTENSITY = { least: 0.1, most: 1e6 };
const SPEED = { least: 1e9, most: 4e15 };
const FLOOR = ROOF.height - ROOF.bottom;

/**
 * "scores + mix is memory-bound: 4.0 FLOPs per byte, 52 times below it" (the ridge).
 * @type {(work: { stage: string, intensity: number, ridge: number, limit: string }) => string}
 */
export function regime({ stage, intensity, ridge, limit }) {
  const below = limit === "memory";
  const ratio = below ? ridge / intensity : intensity / ridge;
  const times = ratio < 10 ? fixed(ratio, 1) : grouped(ratio);
  const per = intensity < 10 ? fixed(intensity, 1) : short(Math.round(intensity));
  return (
    `${stage} is ${below ? "memory-bound" : "compute-bound"}: ${per} FLOPs per byte, `
    + `${times} times ${below ? "below" : "above"} it`
  );
}

/** @type {(words: string, at: Record<string, unknown>) => SVGTextElement} */
const roofText = (words, at) => svg("text", at, words);

/** @type {(words: string, at: Record<string, unknown>) => SVGTextElement} */
const roofTick = (words, at) => roofText(words, { ...at, class: "mhsa-tick" });

/**
 * Numbers along both axes, and a line for each at the left.
 * @param {Scale} x
 * @param {Scale} y
 * @param {number} edge
 */
function roofAxes(x, y, edge) {
  const { left } = ROOF;
  const across = [0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((v) => {
    const words = v < 1000 ? `${v}` : short(v).replace("1000", "1 k");
    return roofTick(words, { x: x(v), y: FLOOR + 16, "text-anchor": "middle" });
  });
  /** @type {[string, number][]} */
  const speeds = [
    ["1 G", 1e9],
    ["1 T", 1e12],
    ["1 P", 1e15],
  ];
  const up = speeds.flatMap(([words, v]) => [
    svg("line", { x1: left, x2: edge, y1: y(v), y2: y(v), class: "mhsa-grid" }),
    roofTick(words, { x: left - 6, y: y(v) + 4, "text-anchor": "end" }),
  ]);
  const titles = [
    roofText("arithmetic intensity, FLOP/byte", {
      x: (left + edge) / 2,
      y: ROOF.height - 6,
      "text-anchor": "middle",
    }),
    roofText("FLOP/s", { x: left - 6, y: 14, "text-anchor": "end" }),
  ];
  return { numbers: [...up, ...across], titles };
}

/**
 * The roof: as fast as memory brings bytes, and then as fast as arithmetic goes.
 * @type {(x: Scale, y: Scale, edge: number, peak: number, bandwidth: number) => SVGElement[]}
 */
function roofItself(x, y, edge, peak, bandwidth) {
  const ridge = peak / bandwidth;
  const [x0, y0] = [x(INTENSITY.least), y(INTENSITY.least * bandwidth)];
  const slope = (180 / Math.PI) * Math.atan2(y(peak) - y0, x(ridge) - x0);
  const above = y(peak) - 8;
  const along = `rotate(${slope} ${x0} ${y0})`;
  return [
    svg("line", { x1: x(ridge), x2: x(ridge), y1: y(peak), y2: FLOOR, class: "mhsa-ridge" }),
    svg("path", { d: `M${x0} ${y0}L${x(ridge)} ${y(peak)}H${edge}`, class: "mhsa-roof-line" }),
    roofTick(`ridge ${grouped(ridge)}`, { x: x(ridge) - 4, y: above, "text-anchor": "end" }),
    roofTick(`${short(peak)}FLOP/s`, { x: edge, y: above, "text-anchor": "end" }),
    roofTick(`${short(bandwidth)}B/s`, { x: x0 + 14, y: y0 - 18, transform: along }),
  ];
}

/**
 * A stage under the roof; its label hangs `row` high, on the side where there is room.
 * @type {(work: StageWork, x: number, y: number, row: number, late: boolean, other: boolean) =>
 *   SVGElement}
 */
function roofPoint(work, x, y, row, late, other) {
  const mark =
    work.phase === "prefill"
      ? svg("circle", { cx: x, cy: y, r: 6 })
      : svg("rect", { x: x - 5.5, y: y - 5.5, width: 11, height: 11 });
  const at = { x: x + (late ? -5 : 5), y: row, "text-anchor": late ? "end" : "start" };
  return svg(
    "g",
    { class: other ? "mhsa-point mhsa-other" : "mhsa-point" },
    svg("line", { x1: x, x2: x, y1: y, y2: row }),
    mark,
    roofText(`${work.phase}: ${work.stage}`, at),
  );
}

/**
 * FLOPs per second over FLOPs per byte. Labels hang below their points, and point inwards: the
 * outer ones hang lowest, so that no line crosses another's label.
 * @type {(cost: { peak: number, stages: StageWork[] }, accelerator: Accelerator, phase: string,
 *   width: number) => SVGElement}
 */
export function roofline({ peak, stages }, { bandwidth, name }, phase, width) {
  const { height, left, top } = ROOF;
  const edge = width - ROOF.right;
  const x = logScale(INTENSITY.least, INTENSITY.most, left, edge);
  const y = logScale(SPEED.least, SPEED.most, FLOOR, top);
  const { numbers, titles } = roofAxes(x, y, edge);
  const sorted = [...stages].sort((a, b) => a.intensity - b.intensity);
  /** @type {(work: StageWork) => boolean} */
  const late = (work) => x(work.intensity) > (left + edge) / 2;
  const order = [...sorted.filter((work) => !late(work)), ...sorted.filter(late).reverse()];
  const points = order.map((work, i) => {
    const [px, py] = [x(work.intensity), y(work.attainable)];
    return roofPoint(work, px, py, FLOOR - 8 - 17 * i, late(work), work.phase !== phase);
  });
  const says = `Roofline of the ${name}: every stage in prefill and decode; `;
  const label = `${says}the table below has the numbers.`;
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    numbers,
    roofItself(x, y, edge, peak, bandwidth),
    points,
    titles,
  );
}
