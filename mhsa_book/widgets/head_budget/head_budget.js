// @ts-check
// Heads against width: a point that moves on the line of constant parameters, and what follows.

import { choice } from "../shared/controls.js";
import { el, scroller } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { grouped, short } from "../shared/numbers.js";
import { sizeControls } from "../shared/sizes.js";
import { spoken } from "../shared/spoken.js";
import { numberCell, rowName } from "../shared/tables.js";
import { readAll, watch, writeAll } from "../shared/traits.js";
import { budgetSummary, change, headBudget } from "./budget.js";
import { bandsOf, tradeOff } from "./trade_off.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Change } from "./budget.js" */
/** @import { Run } from "./trade_off.js" */
/** A set of trained layers. @typedef {{ name: string, source: string, runs: Run[] }} Rings */

const BUDGET_DIALS = { d_model: 16_384, n_heads: 512, d_head: 16_384, seq: 131_072 };
const NAMES = Object.keys(BUDGET_DIALS);

/** The table of what changes; its first title says for how many tokens. */
function budgetTable() {
  const rows = el("tbody");
  const tokens = el("th", { scope: "col" });
  const titles = ["one head", "now", "change"].map((title) =>
    el("th", { scope: "col", class: "mhsa-number" }, title),
  );
  const head = el("thead", {}, el("tr", {}, tokens, titles));
  const node = el("table", { "aria-label": "What the number of heads changes" }, head, rows);
  return { node, rows, tokens };
}

/** @type {(change: Change) => HTMLElement} */
function budgetLine({ name, one, now }) {
  /** @type {(value: number) => HTMLElement} */
  const count = (value) => numberCell(value < 1e8 ? grouped(value) : short(value));
  const look = { class: one === now ? null : "mhsa-moved" };
  return el("tr", look, rowName(name), count(one), count(now), numberCell(change(one, now)));
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "head-budget");
  const read = () => readAll(model, NAMES);
  const controls = sizeControls({
    most: BUDGET_DIALS,
    read,
    signal,
    put: (changes) => writeAll(model, changes),
  });
  /** @type {Rings[]} */
  const rings = model.get("rings");
  const chosen = choice({
    label: "rings",
    options: rings.map(({ name }) => name),
    value: model.get("shown"),
    signal,
    change: (index) => writeAll(model, { shown: index }),
  });
  const source = el("p", { class: "mhsa-quiet" });
  const said = spoken();
  const chart = el("div", { class: "mhsa-chart" });
  const bands = el("div", { class: "mhsa-bands" });
  const table = budgetTable();
  const pictures = el("div", { class: "mhsa-pictures" }, chart, source, bands);
  const picture = el("div", { class: "mhsa-beside" }, pictures, scroller("Budget", table.node));
  body.append(
    el("div", { class: "mhsa-controls" }, Object.values(controls.nodes), controls.derived),
    ...(rings.length > 1 ? [chosen.node] : []),
    controls.notice,
    picture,
    said.node,
  );

  function draw() {
    const { d_model, n_heads, d_head, seq } = read();
    const valid = controls.draw();
    picture.hidden = !valid && !table.rows.hasChildNodes();
    if (!valid) return;
    const sizes = { d_model, n_heads, seq, d_head: d_head ?? d_model / n_heads };
    table.tokens.textContent = seq === 1 ? "for 1 token" : `for ${grouped(seq)} tokens`;
    const drawn = rings[model.get("shown")];
    chosen.show(model.get("shown"));
    source.textContent = drawn.source;
    chart.replaceChildren(tradeOff(sizes, drawn.runs, chart.clientWidth || 420));
    bands.replaceChildren(bandsOf(sizes));
    table.rows.replaceChildren(...headBudget(sizes).map(budgetLine));
    said.say(budgetSummary(sizes));
  }

  watch(model, [...NAMES, "shown"], draw, signal);
  drawToFit(chart, draw, signal);
  return end;
}

export default { render };
