// The roofline: how fast a stage can be, from its FLOPs per byte; in words, and as a picture.

import { fixed, grouped, short, svg } from "./kit.js";
import { logScale } from "./costs.js";

const ROOF = {
  height: 330,
  left: 52,
  right: 16,
  top: 26,
  bottom: 42,
  x: [0.1, 1e6],
  y: [1e9, 4e15],
};

/** "scores + mix is memory-bound: 4.0 FLOPs per byte, 52 times below it" (the ridge). */
export function regime({ stage, intensity, ridge, limit }) {
  const ratio = limit === "memory" ? ridge / intensity : intensity / ridge;
  const times = ratio < 10 ? fixed(ratio, 1) : grouped(ratio);
  const per = intensity < 10 ? fixed(intensity, 1) : short(Math.round(intensity));
  return (
    `${stage} is ${limit === "memory" ? "memory-bound" : "compute-bound"}: ${per} FLOPs per byte, `
    + `${times} times ${limit === "memory" ? "below" : "above"} it`
  );
}

/** A time in three digits with a unit; days may have more. */
export function duration(seconds) {
  const [factor, unit] =
    seconds < 1e-3
      ? [1e6, "µs"]
      : seconds < 1
        ? [1e3, "ms"]
        : seconds < 86_400
          ? [1, "s"]
          : [1 / 86_400, "days"];
  const value = seconds * factor;
  return `${value < 1000 ? Number(value.toPrecision(3)) : grouped(value)} ${unit}`;
}

/** FLOPs per second over FLOPs per byte; each label hangs below its point, the leftmost lowest. */
export function roofline({ peak, stages }, { bandwidth, name }, phase, width) {
  const { height, left, right, top, bottom } = ROOF;
  const [floor, edge] = [height - bottom, width - right];
  const x = logScale(...ROOF.x, left, edge);
  const y = logScale(...ROOF.y, floor, top);
  const ridge = peak / bandwidth;
  const text = (words, at) => svg("text", at, words);
  const [x0, y0] = [x(ROOF.x[0]), y(ROOF.x[0] * bandwidth)];
  const slope = (180 / Math.PI) * Math.atan2(y(peak) - y0, x(ridge) - x0);
  const across = [0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((v) =>
    text(v < 1000 ? `${v}` : short(v).replace("1000", "1 k"), {
      x: x(v),
      y: floor + 16,
      "text-anchor": "middle",
      class: "mhsa-tick",
    }),
  );
  const up = [
    ["1 G", 1e9],
    ["1 T", 1e12],
    ["1 P", 1e15],
  ].flatMap(([words, v]) => [
    svg("line", { x1: left, x2: edge, y1: y(v), y2: y(v), class: "mhsa-grid" }),
    text(words, { x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "mhsa-tick" }),
  ]);
  const points = [...stages]
    .sort((a, b) => a.intensity - b.intensity)
    .map((work, i) => {
      const [px, py, row] = [x(work.intensity), y(work.attainable), floor - 8 - 17 * i];
      const late = px > (left + edge) / 2;
      const mark =
        work.phase === "prefill"
          ? svg("circle", { cx: px, cy: py, r: 6 })
          : svg("rect", { x: px - 5.5, y: py - 5.5, width: 11, height: 11 });
      return svg(
        "g",
        { class: work.phase === phase ? "mhsa-point" : "mhsa-point mhsa-other" },
        svg("line", { x1: px, x2: px, y1: py, y2: row }),
        mark,
        text(`${work.phase}: ${work.stage}`, {
          x: px + (late ? -5 : 5),
          y: row,
          "text-anchor": late ? "end" : "start",
        }),
      );
    });
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Roofline of the ${name}: every stage in prefill and decode; the table below has the numbers.`,
    },
    up,
    across,
    svg("line", { x1: x(ridge), x2: x(ridge), y1: y(peak), y2: floor, class: "mhsa-ridge" }),
    svg("path", { d: `M${x0} ${y0}L${x(ridge)} ${y(peak)}H${edge}`, class: "mhsa-roof-line" }),
    text(`ridge ${grouped(ridge)}`, { x: x(ridge) + 4, y: y(peak) - 8, class: "mhsa-tick" }),
    text(`${short(peak)}FLOP/s`, {
      x: edge,
      y: y(peak) - 8,
      "text-anchor": "end",
      class: "mhsa-tick",
    }),
    text(`${short(bandwidth)}B/s`, {
      x: x0 + 14,
      y: y0 - 18,
      transform: `rotate(${slope} ${x0} ${y0})`,
      class: "mhsa-tick",
    }),
    points,
    text("arithmetic intensity, FLOP/byte", {
      x: (left + edge) / 2,
      y: height - 6,
      "text-anchor": "middle",
    }),
    text("FLOP/s", { x: left - 6, y: 14, "text-anchor": "end" }),
  );
}
