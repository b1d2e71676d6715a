// @ts-check
// The attention map of one head, drawn large: a heat map (a canvas under its labels) or lines
// between two columns of tokens.

import { el, svg, uid } from "../shared/elements.js";
import { layout, place, placeIn, widest } from "./layout.js";
import { fan, frames, label, names, numbers, strands, weightAt } from "./head_lines.js";
import { paint, resize, weightCanvas } from "./weight_pixels.js";

/** @import { Large, Sides } from "./head_lines.js" */
/** @import { Token, Weights } from "./measures.js" */
/** @typedef {ReturnType<typeof headView>} HeadView */
/**
 * What to draw in `width` pixels, and what it is called.
 * @typedef {{ weights: Weights, name: string, title: string, queries: Token[], keys: Token[],
 *   width: number, lines?: boolean, signed?: boolean, sides?: Sides }} Drawn
 */

const SIDES = { down: "query", across: "key", heard: "queries down, keys across" };

/** The parts of a view: pixels, labels and, over both, a grid for the pointer and the keys. */
function layers() {
  const title = el("p", { class: "mhsa-name" });
  const canvas = weightCanvas();
  const picture = svg("svg", { class: "mhsa-picture", "aria-hidden": "true" });
  // The grid holds one cell, the marked one: a screen reader walks through it by arrow keys.
  const cell = el("div", { role: "gridcell" });
  const row = el("div", { role: "row" }, cell);
  const grid = el("div", { role: "grid", class: "mhsa-cells", tabindex: 0 }, row);
  const map = el("div", { class: "mhsa-map" }, canvas, picture, grid);
  const room = el("div", { class: "mhsa-scroll" }, map);
  const node = el("div", { class: "mhsa-view" }, title, room);
  return { title, canvas, picture, cell, row, grid, map, node };
}

/**
 * `draw` shows a head, `mark` points at one of its weights; `point` hears where the pointer is.
 * @param {AbortSignal} signal
 * @param {(place: { row?: number, column?: number }) => void} point
 */
export function headView(signal, point) {
  const { title, canvas, picture, cell, row: line, grid, map, node } = layers();
  const pen = /** @type {CanvasRenderingContext2D} */ (el("canvas").getContext("2d"));
  const [content, marks] = [svg("g"), svg("g")];
  let head = /** @type {Large} */ (/** @type {unknown} */ (null)); // until the first draw
  let known = /** @type {unknown[]} */ ([]);

  /** @type {(event: PointerEvent) => void} */
  function pointed({ clientX, clientY }) {
    const { x, y } = grid.getBoundingClientRect();
    const { row, column } = placeIn(clientX - x, clientY - y, head.box, head.lines);
    const there = (/** @type {Token[]} */ tokens, /** @type {number | undefined} */ i) =>
      i !== undefined && tokens[i] ? i : undefined;
    point({ row: there(head.queries, row), column: there(head.keys, column) });
  }
  for (const event of /** @type {const} */ (["pointermove", "pointerdown"])) {
    grid.addEventListener(event, pointed, { signal });
  }

  /** @type {(drawn: Drawn) => void} */
  function draw({
    weights,
    name,
    title: short,
    queries,
    keys,
    width,
    lines = false,
    signed = false,
    sides = SIDES,
  }) {
    title.textContent = short;
    grid.setAttribute("aria-label", `${name}; ${sides.heard}`);
    const now = [queries, keys, width, lines];
    const same = now.every((part, i) => part === known[i]);
    known = now;
    if (same) head = { ...head, weights, signed };
    else arrange({ weights, queries, keys, lines, signed, sides }, width);
    resize(canvas, queries.length, keys.length);
    if (!lines) paint([canvas], weights, queries.length, keys.length, signed);
    content.replaceChildren(...(lines ? strands(head) : numbers(head)));
  }

  /**
   * Other tokens, or another width: everything gets another place.
   * @type {(drawn: Omit<Large, "box">, width: number) => void}
   */
  function arrange(drawn, width) {
    const { queries, keys, lines } = drawn;
    pen.font = `11px ${getComputedStyle(node).fontFamily}`;
    const labels = [widest(pen, queries), widest(pen, keys)];
    const box = layout(width, queries.length, keys.length, labels[0], labels[1], lines);
    head = { ...drawn, box };
    const { left, top, right, bottom } = box;
    place(map, { width: box.width, height: box.height });
    place(canvas, { left, top, width: right - left, height: bottom - top });
    canvas.hidden = lines;
    picture.setAttribute("width", `${box.width}`);
    picture.setAttribute("height", `${box.height}`);
    grid.setAttribute("aria-rowcount", `${queries.length}`);
    grid.setAttribute("aria-colcount", `${keys.length}`);
    marks.replaceChildren();
    picture.replaceChildren(content, ...names(head), marks);
  }

  /** @type {(row: number, column: number) => number} */
  const at = (row, column) => weightAt(head, row, column);

  /**
   * Point at one weight: frame it and its row (its column, `byKey`), or draw its lines strong.
   * @type {(row: number, column: number, byKey: boolean, says: string) => void}
   */
  function mark(row, column, byKey, says) {
    cell.id = uid(); // new each time, so that a screen reader reads it
    cell.textContent = says;
    grid.setAttribute("aria-activedescendant", cell.id);
    line.setAttribute("aria-rowindex", `${row + 1}`);
    cell.setAttribute("aria-colindex", `${column + 1}`);
    const around = head.lines ? fan : frames;
    const bold = [label(head, row, false, "mhsa-marked"), label(head, column, true, "mhsa-marked")];
    marks.replaceChildren(...around(head, row, column, byKey), ...bold);
  }
  /** What a file needs. */
  const shown = () => ({ head, title: title.textContent, picture });
  return { node, grid, draw, mark, at, shown, width: () => known[2] };
}
