// @ts-check
// Lines from the word that asks to the words it looks at: as wide and as dark as the weight.

import { el, svg, uid } from "../shared/elements.js";
import { clamp } from "../shared/numbers.js";

const [BASE, LOWEST, STEP] = [116, 26, 32]; // where words begin, and how high lines rise
const APART = 8; // lines end side by side
const LEAST = 0.02; // a weight below is not drawn

/** @type {(h: number) => string} */
export const dashOf = (h) => ["none", "9 5", "0.1 6"][h % 3];

/** A line as the arcs of a head, for its switch. @type {(h: number) => SVGElement} */
export function sample(h) {
  const line = svg("path", { d: "M3 6h30", "stroke-width": 4, "stroke-dasharray": dashOf(h) });
  const about = { width: 36, height: 12, "aria-hidden": "true" };
  return svg("svg", { ...about, class: `mhsa-arc mhsa-head-${h}` }, line);
}

/** @type {(h: number, id: string) => SVGElement} */
function arrow(h, id) {
  const size = { viewBox: "-6 -9 12 10", refX: 0, refY: -3, markerWidth: 12, markerHeight: 10 };
  const about = { id, ...size, markerUnits: "userSpaceOnUse" };
  return svg("marker", about, svg("path", { class: `mhsa-tip-${h}`, d: "M-5.5 -8.5h11L0 0Z" }));
}

/**
 * The lines of one head; `draw` takes its weights, the middles of the words and its height.
 * @param {number} h @param {number} n words @param {string} name
 */
function linesOf(h, n, name) {
  const id = uid();
  const end = { "stroke-dasharray": dashOf(h), "marker-end": `url(#${id})` };
  const lines = Array.from({ length: n }, () => svg("path", end));
  const label = svg("text", { class: "mhsa-arc-name", "text-anchor": "middle" }, name);
  const node = svg("g", { class: `mhsa-arc mhsa-head-${h}` }, arrow(h, id), lines);

  /** @type {(row: number[], w: number, middles: number[], rank: number, off: boolean) => void} */
  function draw(row, w, middles, rank, off) {
    const keys = row.map((_, k) => k).sort((a, b) => row[b] - row[a]);
    const seen = off ? [] : keys.filter((k) => row[k] >= LEAST);
    const rise = LOWEST + rank * STEP;
    lines.forEach((line, i) => {
      const k = seen[i];
      line.setAttribute("display", k === undefined ? "none" : "inline");
      if (k === undefined) return;
      // A longer line begins and ends outside a shorter one; one to the own word is a loop.
      const out = Math.sign(middles[w] - middles[k]) * (rank - 1) * APART || (k === w ? -9 : 0);
      const [from, to] = [middles[w] + out, middles[k] - out];
      const top = BASE - (rise * 4) / 3;
      line.setAttribute("d", `M${from} ${BASE - 1}C${from} ${top} ${to} ${top} ${to} ${BASE - 5}`);
      line.setAttribute("stroke-width", `${0.5 + 3 * row[k]}`);
      line.setAttribute("opacity", `${row[k]}`);
    });
    label.setAttribute("display", seen.length ? "inline" : "none");
    if (!seen.length) return;
    const half = label.getComputedTextLength() / 2 + 3;
    const middle = (middles[w] + middles[seen[0]]) / 2;
    label.setAttribute("x", `${clamp(middle, half, middles[n - 1] + 24 - half)}`);
    label.setAttribute("y", `${BASE - rise - 5}`);
  }
  return { node, label, draw };
}

/** @param {string[]} names of the heads @param {number} n words */
export function arcs(names, n) {
  const heads = names.map((name, h) => linesOf(h, n, name));
  const picture = svg(
    "svg",
    { height: BASE, "aria-hidden": "true" },
    heads.map(({ node }) => node),
    heads.map(({ label }) => label),
  );
  const node = el("div", { class: "mhsa-arcs" }, picture);

  /**
   * Short lines lie low.
   * @type {(rows: number[][], w: number, at: number[], off: number[]) => void}
   */
  function draw(rows, w, at, off) {
    const far = rows.map((row) => Math.abs(row.indexOf(Math.max(...row)) - w));
    const order = far.map((_, h) => h).sort((a, b) => far[a] - far[b] || a - b);
    heads.forEach((head, h) => head.draw(rows[h], w, at, order.indexOf(h), off.includes(h)));
  }
  return { node, draw };
}
