// @ts-check
// The loop of a fused kernel, tile by tile, and the bytes that it moves.

import { button, choice } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { el, scroller } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { grouped } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { movedBars, movedTable } from "./moved_bars.js";
import { running } from "./online.js";
import { keepInWords, runningTable } from "./running_table.js";
import { stepping } from "./stepping.js";
import { tableLegend, tablePicture } from "./table_picture.js";
import {
  bandOf,
  computedOf,
  largestTile,
  movedByStages,
  movedUpTo,
  placeOf,
  rowsOf,
} from "./tiles.js";
import { atPlace, fitsInWords, lacksInWords, MASK_WORDS, stepInWords } from "./tile_words.js";

/** @import { Place } from "../shared/frame.js" */
/** @typedef {{ name: string, n: number, d_head: number, memory: number }} Table */
/** @typedef {(n: number, d_head: number) => number[]} Fitting */

const TILE_TRAITS = ["table", "mask", "memory", "step"];
const STOPS = [128, 256, 512, 1024, ...[16, 32, 64, 128, 256].map((kib) => 1024 * kib)];
const MASK_NAMES = Object.keys(MASK_WORDS);

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "tile-lab");
  const tables = /** @type {Table[]} */ (model.get("tables"));
  const start = readAll(model, TILE_TRAITS);
  const chosen = () => tables.find(({ name }) => name === model.get("table")) ?? tables[0];
  const note = notice({ signal });
  let change = "";
  /** The fast memory moves along with a table. @type {(i: number) => void} */
  const chooseTable = (i) => {
    const { name, memory } = tables[i];
    change = `Fast memory ${grouped(model.get("memory"))} → ${grouped(memory)} bytes.`;
    writeAll(model, { table: name, memory, step: 1 });
  };
  const table = choice({
    label: "table",
    options: tables.map(({ name }) => name),
    value: tables.indexOf(chosen()),
    signal,
    change: chooseTable,
  });
  const mask = choice({
    label: "mask",
    options: Object.values(MASK_WORDS),
    value: MASK_NAMES.indexOf(model.get("mask")),
    signal,
    change: (i) => writeAll(model, { mask: MASK_NAMES[i], step: 1 }),
  });
  /** @type {(bytes: number) => void} */
  const setMemory = (bytes) => writeAll(model, { memory: bytes, step: 1 });
  const memory = dial({
    label: "fast memory in bytes",
    unit: "byte",
    max: 262_144,
    stops: STOPS,
    value: model.get("memory"),
    signal,
    change: setMemory,
    wrong: note.wrong,
  });
  const said = spoken();
  const playing = said.hush; // steps that play are not heard one by one
  const steps = stepping({ signal, playing, go: (i) => write(model, "step", i) });
  const reset = button({ label: "Reset", signal, press: () => writeAll(model, start) });
  const [drawn, legend] = [el("div", { class: "mhsa-drawn" }), el("div")];
  const [bars, numbers] = [el("tbody"), scroller("Bytes moved")];
  const [kept, query] = [scroller("One query"), el("p", { class: "mhsa-keep" })];
  const barsAbout = { class: "mhsa-moves", "aria-label": "Bytes read and written" };
  const counts = el("div", {}, el("table", barsAbout, bars), numbers);
  body.append(
    el("div", { class: "mhsa-controls" }, table.node, mask.node, memory.node),
    note.node,
    el("div", { class: "mhsa-controls mhsa-at-hand" }, steps.nodes, reset),
    el("div", { class: "mhsa-beside" }, el("div", {}, drawn, legend), counts),
    said.node,
    query,
    kept,
  );

  /** What depends on sizes and mask only. */
  function plan() {
    const { n, d_head } = chosen();
    const tile = largestTile(model.get("memory"), n, d_head);
    const whole = { n, d_head, tile, band: bandOf(model.get("mask"), n) };
    return { whole, rows: tile ? rowsOf(whole) : [] };
  }
  let now = plan();

  /** Stops of the slider, and what was typed, where a tile fits. @type {Fitting} */
  const fitting = (n, d_head) => {
    const all = new Set([...STOPS, model.get("memory")]);
    return [...all].filter((bytes) => largestTile(bytes, n, d_head)).sort((a, b) => a - b);
  };

  function light() {
    const { whole, rows } = now;
    if (!whole.tile) return;
    const count = computedOf(rows);
    const step = Math.min(model.get("step"), count - 1);
    const { row, column } = placeOf(rows, step);
    const all = {
      "five stages": movedByStages(whole),
      "this loop": movedUpTo(whole, rows, count - 1),
      "so far": movedUpTo(whole, rows, step),
    };
    steps.show(step, count);
    legend.replaceChildren(tableLegend(model.get("mask") !== "none"));
    drawn.replaceChildren(tablePicture(whole, rows, { row, column }, atPlace(whole, row, column)));
    bars.replaceChildren(...movedBars(all));
    numbers.replaceChildren(movedTable(all));
    const round = running(whole, row, rows[row].first, column);
    query.textContent = keepInWords(round, row * whole.tile);
    kept.replaceChildren(runningTable(round));
    said.say(stepInWords(whole, { row, column, step, count }, all));
  }

  function draw() {
    now = plan();
    const { n, d_head, tile } = now.whole;
    table.show(tables.indexOf(chosen()));
    mask.show(MASK_NAMES.indexOf(model.get("mask")));
    memory.show(model.get("memory"), fitting(n, d_head));
    if (tile) note.say({ rule: fitsInWords(now.whole, model.get("memory")), change });
    else note.say(lacksInWords(model.get("memory"), { n, d_head }, setMemory));
    change = "";
    light();
  }

  watch(model, ["table", "mask", "memory"], draw, signal);
  watch(model, ["step"], light, signal);
  draw();
  return end;
}

export default { render };
