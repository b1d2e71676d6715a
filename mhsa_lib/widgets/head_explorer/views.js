// One head drawn large: a heat map (a canvas under its labels) or lines between two columns of
// tokens. All lengths are CSS pixels.

import { clamp, el, fixed, svg, uid, weightColour, weightInk } from "../shared/kit.js";
import { spelled } from "../shared/tokens.js";

const TALL = 500;
const FAINTEST = 0.05;

/** White for no difference, blue where the first is larger, orange where the second is. */
export function differenceColour(value) {
  const end = value > 0 ? [0, 90, 160] : [205, 88, 0];
  return `rgb(${end.map((c) => Math.round(255 + Math.min(1, Math.abs(value)) * (c - 255))).join(",")})`;
}

/** 256 colours as pixels. */
export const palette = (colour) =>
  Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = colour(i / 255).match(/\d+/g);
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });

const WEIGHTS = palette(weightColour);
const DIFFERENCES = palette((share) => differenceColour(2 * share - 1));

/** Fill canvases with a pixel a weight from their corner, one head after the other; exact zeros stay clear. */
export function paint(canvases, weights, rows, columns, signed = false) {
  const image = new ImageData(columns, rows);
  const into = new Uint32Array(image.data.buffer);
  canvases.forEach((canvas, head) => {
    const from = head * into.length;
    for (let i = 0; i < into.length; i += 1) {
      const weight = weights[from + i];
      if (signed) into[i] = DIFFERENCES[clamp(Math.round(127.5 * (weight + 1)), 0, 255)];
      else into[i] = weight > 0 ? WEIGHTS[weight < 1 ? (255 * weight + 0.5) | 0 : 255] : 0;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  });
}

/** Where everything lies in `width` pixels, when the widest labels are so wide. */
export function layout(width, rows, columns, rowLabel, columnLabel, lines) {
  const top = lines ? 22 : columnLabel + 24;
  const left = Math.max(rowLabel, 34) + 8;
  const most = Math.max(rows, columns);
  const cell = lines
    ? clamp(TALL / most, 13, 24)
    : clamp(Math.min((width - left - 2) / columns, TALL / rows), 4, 46);
  const right = lines
    ? left + clamp(width - left - columnLabel - 52, 60, 320)
    : left + cell * columns;
  const bottom = top + cell * (lines ? most : rows);
  return {
    left,
    top,
    cell,
    right,
    bottom,
    width: lines ? right + columnLabel + 50 : right + 2,
    height: bottom + 2,
  };
}

/** A large head: `draw` its weights, `mark` one of them. */
export class HeadView {
  constructor(signal, point) {
    this.title = el("p", { class: "mhsa-name" });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.picture = svg("svg", { class: "mhsa-picture", "aria-hidden": "true" });
    // The grid holds one cell, the marked one: a screen reader walks through it by arrow keys.
    this.cell = el("div", { role: "gridcell" });
    this.row = el("div", { role: "row" }, this.cell);
    this.grid = el("div", { role: "grid", class: "mhsa-cells", tabindex: 0 }, this.row);
    this.map = el("div", { class: "mhsa-map" }, this.canvas, this.picture, this.grid);
    this.node = el(
      "div",
      { class: "mhsa-view" },
      this.title,
      el("div", { class: "mhsa-scroll" }, this.map),
    );
    this.pen = el("canvas").getContext("2d");
    for (const event of ["pointermove", "pointerdown"]) {
      this.grid.addEventListener(event, (move) => point(this.placeOf(move)), { signal });
    }
  }

  /** Row and column under a pointer; undefined on a label, and for the far side of a line. */
  placeOf({ clientX, clientY }) {
    const { x, y } = this.grid.getBoundingClientRect();
    const { left, top, cell, right } = this.box;
    const row = Math.floor((clientY - y - top) / cell);
    const far = clientX - x > (left + right) / 2;
    if (this.lines)
      return far ? { column: this.keys[row] && row } : { row: this.queries[row] && row };
    const column = Math.floor((clientX - x - left) / cell);
    return { row: this.queries[row] && row, column: this.keys[column] && column };
  }

  draw(weights, { name, title, queries, keys, width, lines = false, signed = false }) {
    this.title.textContent = title;
    this.grid.setAttribute("aria-label", `${name}; queries down, keys across`);
    const known = [queries, keys, width, lines].every((part, i) => part === this.known?.[i]);
    Object.assign(this, {
      weights,
      queries,
      keys,
      lines,
      signed,
      known: [queries, keys, width, lines],
    });
    if (!known) this.arrange(width);
    const size = { width: keys.length, height: queries.length };
    if (this.canvas.width !== size.width || this.canvas.height !== size.height)
      Object.assign(this.canvas, size);
    if (!lines) paint([this.canvas], weights, size.height, size.width, signed);
    this.content.replaceChildren(...(lines ? this.strands() : this.numbers()));
  }

  arrange(width) {
    this.pen.font = `11px ${getComputedStyle(this.node).fontFamily}`;
    const wide = (names) =>
      Math.max(...names.map(({ token }) => this.pen.measureText(spelled(token)).width)) * 1.08 + 4;
    const box = layout(
      width,
      this.queries.length,
      this.keys.length,
      wide(this.queries),
      wide(this.keys),
      this.lines,
    );
    this.box = box;
    const pixels = (sizes) =>
      Object.fromEntries(Object.entries(sizes).map(([side, size]) => [side, `${size}px`]));
    Object.assign(this.map.style, pixels({ width: box.width, height: box.height }));
    Object.assign(
      this.canvas.style,
      pixels({
        left: box.left,
        top: box.top,
        width: box.right - box.left,
        height: box.bottom - box.top,
      }),
    );
    this.canvas.hidden = this.lines;
    this.picture.setAttribute("width", box.width);
    this.picture.setAttribute("height", box.height);
    this.grid.setAttribute("aria-rowcount", this.queries.length);
    this.grid.setAttribute("aria-colcount", this.keys.length);
    [this.content, this.marks] = [svg("g"), svg("g")];
    const every = Math.ceil(10 / box.cell);
    const labels = [
      [this.queries, false],
      [this.keys, true],
    ].map(([names, isKey]) => names.map((_, i) => (i % every ? null : this.label(i, isKey))));
    const axis = (text, x, y, anchor) =>
      svg("text", { class: "mhsa-axis", x, y, "text-anchor": anchor }, text);
    this.picture.replaceChildren(
      this.content,
      axis("query", box.left - 6, box.top - 8, "end"),
      this.lines ? axis("key", box.right + 6, box.top - 8) : axis("key", box.left, 10),
      svg("g", {}, ...labels),
      this.marks,
    );
  }

  label(i, isKey, marked = null) {
    const { left, top, cell, right } = this.box;
    const middle = (i + 0.5) * cell + 4;
    const place = !isKey
      ? { x: left - 6, y: top + middle, "text-anchor": "end" }
      : this.lines
        ? { x: right + 6, y: top + middle }
        : { transform: `translate(${left + middle} ${top - 6}) rotate(-90)` };
    return svg(
      "text",
      { ...place, class: marked },
      spelled((isKey ? this.keys : this.queries)[i].token),
    );
  }

  numbers() {
    const { left, top, cell } = this.box;
    const n = this.keys.length;
    if (Math.max(this.queries.length, n) > 8 || cell < 30) return [];
    return Array.from(this.weights, (weight, i) =>
      svg(
        "text",
        {
          x: left + ((i % n) + 0.5) * cell,
          y: top + (Math.floor(i / n) + 0.5) * cell + 4,
          "text-anchor": "middle",
          class: weight === 0 ? "mhsa-zero" : null,
          fill: weightInk(this.signed ? 0 : weight),
        },
        weight === 0 ? "0" : fixed(weight),
      ),
    );
  }

  strands() {
    const n = this.keys.length;
    return Array.from(this.weights, (weight, i) =>
      weight < FAINTEST ? "" : this.strand(Math.floor(i / n), i % n, 0.28),
    ).filter(Boolean);
  }

  strand(row, column, ink) {
    const { left, top, cell, right } = this.box;
    const weight = this.at(row, column);
    return svg("line", {
      class: "mhsa-strand",
      x1: left,
      y1: top + (row + 0.5) * cell,
      x2: right,
      y2: top + (column + 0.5) * cell,
      "stroke-width": Math.max(0.4, 6 * weight),
      "stroke-opacity": Math.max(0.12, weight * ink),
    });
  }

  at(row, column) {
    return this.weights[row * this.keys.length + column];
  }

  /** Point at one weight: frame it and its row (its column, `byKey`), or draw its lines strong. */
  mark(row, column, byKey, says) {
    const { left, top, cell, right, bottom } = this.box;
    this.cell.id = uid(); // new each time, so that a screen reader reads it
    this.cell.textContent = says;
    this.grid.setAttribute("aria-activedescendant", this.cell.id);
    this.row.setAttribute("aria-rowindex", row + 1);
    this.cell.setAttribute("aria-colindex", column + 1);
    const names = [this.label(row, false, "mhsa-marked"), this.label(column, true, "mhsa-marked")];
    const square = { x: left + column * cell, y: top + row * cell, width: cell, height: cell };
    const band = byKey
      ? { ...square, y: top, height: bottom - top }
      : { ...square, x: left, width: right - left };
    const frames = [
      [band, "mhsa-band"],
      [square, "mhsa-under"],
      [square, "mhsa-here"],
    ].map(([place, name]) => svg("rect", { ...place, class: name }));
    this.marks.replaceChildren(...(this.lines ? this.fan(row, column, byKey) : frames), ...names);
  }

  fan(row, column, byKey) {
    const { top, cell, width } = this.box;
    const strong = (byKey ? this.queries : this.keys)
      .map((_, i) => (byKey ? [i, column] : [row, i]))
      .filter(([r, c]) => this.at(r, c) > 0)
      .map(([r, c]) => this.strand(r, c, 1));
    const number = fixed(this.at(row, column));
    return [
      ...strong,
      svg(
        "text",
        {
          class: "mhsa-marked",
          x: width - 2,
          y: top + (column + 0.5) * cell + 4,
          "text-anchor": "end",
        },
        number,
      ),
    ];
  }

  /** The picture by itself: pixels become squares, zeros stay hatched. */
  alone(x, y) {
    const { left, top, cell, right, bottom } = this.box;
    const n = this.keys.length;
    const square = (weight, i) =>
      weight === 0 && !this.signed
        ? ""
        : svg("rect", {
            x: left + (i % n) * cell,
            y: top + Math.floor(i / n) * cell,
            width: cell,
            height: cell,
            fill: this.signed ? differenceColour(weight) : weightColour(weight),
          });
    const squares = this.lines
      ? []
      : [
          svg("rect", {
            x: left,
            y: top,
            width: right - left,
            height: bottom - top,
            fill: "url(#zero)",
          }),
          ...Array.from(this.weights, square).filter(Boolean),
        ];
    return svg(
      "g",
      { transform: `translate(${x} ${y})` },
      svg("text", { class: "mhsa-marked", x: left, y: -8 }, this.title.textContent),
      svg("g", { "shape-rendering": "crispEdges" }, squares),
      [...this.picture.cloneNode(true).children],
    );
  }
}

const FILE_STYLE =
  ".mhsa-marked{font-weight:bold;stroke:#fff;stroke-width:4px;paint-order:stroke}.mhsa-strand,.mhsa-band,.mhsa-here{stroke:#0060a0}"
  + ".mhsa-band,.mhsa-here,.mhsa-under{fill:none}";

/** Pictures side by side as the text of one SVG file. */
export function svgFile(views, title) {
  let width = 12;
  const parts = views.map((view) => {
    width += view.box.width + 16;
    return view.alone(width - view.box.width - 16, 34);
  });
  const height = 46 + Math.max(...views.map((view) => view.box.height));
  const hatch = svg(
    "pattern",
    { id: "zero", width: 4, height: 4, patternUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 4L4 0", stroke: "#999" }),
  );
  return new XMLSerializer().serializeToString(
    svg(
      "svg",
      { width, height, "font-family": "sans-serif", "font-size": 11 },
      svg("title", {}, title),
      svg("style", {}, FILE_STYLE),
      hatch,
      svg("rect", { width, height, fill: "#fff" }),
      parts,
    ),
  );
}
