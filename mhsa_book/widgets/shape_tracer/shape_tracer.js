// @ts-check
// Dials for every size, and one row per wire: its axes, a box in proportion, and what it costs.

import { choice } from "../shared/controls.js";
import { el, scroller } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { grouped, short } from "../shared/numbers.js";
import { sizeControls } from "../shared/sizes.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { axisSizes, ledger, totals } from "./ledger.js";
import { wireRow } from "./rows.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Row } from "./ledger.js" */

const DIALS = {
  batch: 256,
  seq: 131_072,
  d_model: 16_384,
  n_heads: 128,
  n_kv_heads: 128,
  d_head: 512,
};
/** @type {Record<string, number>} */
const DTYPES = { float32: 4, bfloat16: 2, float16: 2, float64: 8 };
const TITLES = ["wire", "shape", "box", "result"];
const NUMBERS = ["bytes", "FLOPs", "parameters"];

/**
 * The whole ledger in a sentence or two.
 * @type {(rows: Row[], sizes: Record<string, number>) => string}
 */
export function summary(rows, sizes) {
  const { parameters, flops, bytes } = totals(rows);
  const table = rows.find((row) => row.wire === "weights")?.bytes ?? 0;
  return (
    `${grouped(parameters)} parameters, ${short(flops)} FLOPs, ${short(bytes)} bytes `
    + `of new memory. The table of weights alone is `
    + `${grouped(sizes.query)} × ${grouped(sizes.key)} numbers `
    + `for each of ${grouped(sizes.batch)} × ${grouped(sizes.head)} heads: ${short(table)} bytes.`
  );
}

/** The table of wires. */
function wireTable() {
  const rows = el("tbody", { role: "rowgroup" });
  const titles = [...TITLES, ...NUMBERS].map((title) => {
    const look = NUMBERS.includes(title) ? "mhsa-number" : null;
    return el("th", { scope: "col", role: "columnheader", class: look }, title);
  });
  const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, titles));
  const about = { role: "table", "aria-label": "Every wire, its shape and its cost" };
  return { rows, node: el("table", about, head, rows) };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "shape-tracer");
  const fixed = model.get("fixed");
  const built = "head" in fixed;
  const most = built ? { batch: DIALS.batch, seq: DIALS.seq } : DIALS;
  const names = Object.keys(most);
  const read = () => readAll(model, names);
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
  const table = wireTable();
  const dials = [Object.values(sizes.nodes), built ? null : sizes.derived, dtype.node];
  const bar = el("div", { class: "mhsa-controls" }, ...dials);
  body.append(bar, sizes.notice, scroller("Wires", table.node), said.node);

  function draw() {
    dtype.show(dtypes.indexOf(model.get("dtype")));
    const valid = sizes.draw();
    if (!valid) return;
    const axes = axisSizes(read(), fixed);
    const wires = ledger(model.get("recipe"), axes, DTYPES[model.get("dtype")]);
    const largest = Math.max(...wires.flatMap((row) => row.shape.slice(-2)));
    const colours = model.get("colours");
    table.rows.replaceChildren(...wires.map((row) => wireRow(row, largest, colours)));
    said.say(summary(wires, axes));
  }

  watch(model, [...names, "dtype"], draw, signal);
  draw();
  return end;
}

export default { render };
