// Dials for every size, and one row per wire: its axes, a box in proportion, and what it costs.

import {
  choice,
  el,
  frame,
  grouped,
  short,
  spoken,
  svg,
  watch,
  write,
  writeAll,
} from "../shared/kit.js";
import { axisSizes, ledger, totals } from "../shared/ledger.js";
import { sizeControls } from "../shared/sizes.js";

const DIALS = {
  batch: 256,
  seq: 131_072,
  d_model: 16_384,
  n_heads: 128,
  n_kv_heads: 128,
  d_head: 512,
};
const DTYPES = { float32: 4, bfloat16: 2, float16: 2, float64: 8 };
const BOX = { side: 40, sheets: 4, shift: 3 };

/** Sides of a box: they grow with the square root of its last two sizes, on one scale for all. */
export function boxSides(shape, largest) {
  const side = (size) => Math.max(1.5, BOX.side * Math.sqrt(size / largest));
  return { width: side(shape.at(-1)), height: side(shape.at(-2)) };
}

/** The whole ledger in a sentence or two. */
export function summary(rows, sizes) {
  const { parameters, flops, bytes } = totals(rows);
  const table = rows.find((row) => row.wire === "weights");
  return (
    `${grouped(parameters)} parameters, ${short(flops)} FLOPs, ${short(bytes)} bytes of new memory. `
    + `The table of weights alone is ${grouped(sizes.query)} × ${grouped(sizes.key)} numbers for each of `
    + `${grouped(sizes.batch)} × ${grouped(sizes.head)} heads: ${short(table.bytes)} bytes.`
  );
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "shape-tracer");
  const fixed = model.get("fixed");
  const built = "head" in fixed;
  const most = built ? { batch: DIALS.batch, seq: DIALS.seq } : DIALS;
  const names = Object.keys(most);
  const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const sizes = sizeControls({ most, read, signal, put: (changes) => writeAll(model, changes) });
  const said = spoken();
  const dtypes = Object.keys(DTYPES);
  const dtype = choice({
    label: "dtype",
    options: dtypes,
    value: dtypes.indexOf(model.get("dtype")),
    signal,
    change: (i) => write(model, "dtype", dtypes[i]),
  });
  // Roles are written out: on a narrow figure the rows become blocks, and stay a table for readers who listen.
  const rows = el("tbody", { role: "rowgroup" });
  const head = ["wire", "shape", "box", "result", "bytes", "FLOPs", "parameters"];
  const numbers = new Set(["bytes", "FLOPs", "parameters"]);
  const cells = head.map((title) =>
    el(
      "th",
      { scope: "col", role: "columnheader", class: numbers.has(title) ? "mhsa-number" : null },
      title,
    ),
  );
  const table = el(
    "table",
    { role: "table", "aria-label": "Every wire, its shape and its cost" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, cells)),
    rows,
  );
  body.append(
    el(
      "div",
      { class: "mhsa-controls" },
      Object.values(sizes.nodes),
      built ? null : sizes.derived,
      dtype.node,
    ),
    sizes.notice,
    el("div", { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": "Wires" }, table),
    said.node,
  );

  function draw() {
    dtype.show(dtypes.indexOf(model.get("dtype")));
    const valid = sizes.draw();
    if (!valid) return;
    const axes = axisSizes(read(), fixed);
    const wires = ledger(model.get("recipe"), axes, DTYPES[model.get("dtype")]);
    const largest = Math.max(...wires.flatMap((row) => row.shape.slice(-2)));
    rows.replaceChildren(...wires.map((row) => line(row, largest, model.get("colours"))));
    said.say(summary(wires, axes));
  }

  watch(model, [...names, "dtype"], draw, signal);
  draw();
  return end;
}

function line(row, largest, colours) {
  const chips = row.axes.flatMap((axis, i) => [
    el(
      "span",
      { class: "mhsa-chip", style: `--axis:${colours[axis]}` },
      `${axis} `,
      el("b", {}, grouped(row.shape[i])),
    ),
    " ",
  ]);
  const number = (text) =>
    el("td", { role: "cell", class: text ? "mhsa-number" : "mhsa-number mhsa-none" }, text || "–");
  return el(
    "tr",
    { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, el("code", {}, row.wire)),
    el("td", { role: "cell", class: "mhsa-chips" }, chips),
    el("td", { role: "cell" }, box(row, largest, colours)),
    el("td", { role: "cell" }, row.result),
    number(short(row.bytes)),
    number(row.flops && short(row.flops)),
    number(row.parameters && `${row.weight} ${short(row.parameters)}`),
  );
}

function box(row, largest, colours) {
  const { width, height } = boxSides(row.shape, largest);
  const leading = row.shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const sheets = Math.min(leading, BOX.sheets);
  const quadratic = row.axes.includes("query") && row.axes.includes("key");
  const [across, down] = [colours[row.axes.at(-1)], colours[row.axes.at(-2)]];
  const sheet = (i) => {
    const [x, y] = [2 + i * BOX.shift, 2 + (sheets - 1 - i) * BOX.shift];
    return svg(
      "g",
      { transform: `translate(${x} ${y})` },
      svg("rect", {
        width,
        height,
        class: quadratic ? "mhsa-square" : "mhsa-sheet",
        "stroke-dasharray": row.result === "view" ? "3 2" : null,
      }),
      svg("path", { d: `M0 0H${width}`, stroke: across, "stroke-width": 3 }),
      svg("path", { d: `M0 0V${height}`, stroke: down, "stroke-width": 3 }),
    );
  };
  const room = BOX.shift * (BOX.sheets - 1) + 5;
  return svg(
    "svg",
    { class: "mhsa-box", width: BOX.side + room, height: height + room, "aria-hidden": "true" },
    Array.from({ length: sheets }, (_, i) => sheet(sheets - 1 - i)),
  );
}

export default { render };
