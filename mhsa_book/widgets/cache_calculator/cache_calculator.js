// @ts-check
// What decoding keeps for every token, and what that means for an accelerator.

import { NUMBER_BYTES } from "../shared/costs.js";
import { el, scroller } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { memoryRows } from "../shared/memory.js";
import { duration, grouped } from "../shared/numbers.js";
import { lawInWords } from "../shared/size_words.js";
import { sizeControls } from "../shared/sizes.js";
import { spoken } from "../shared/spoken.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { readAll, watch, writeAll } from "../shared/traits.js";
import { KINDS, cacheOf, inWords, kindInWords, noted } from "./caches.js";
import { CACHE_DIALS, SIZE_NAMES, choicesOf, chosenIn } from "./cache_controls.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { CacheLoad, CacheSizes, Device, Kept } from "./caches.js" */

const LOADS = { tokens: 16_777_216, sequences: 4096 };
const LOAD_NAMES = Object.keys(LOADS);

/** @typedef {ReturnType<typeof chosenIn>} Chosen */

/** Where bars and numbers are drawn. */
function memoryPicture() {
  const [bars, rows] = [el("tbody"), el("tbody")];
  const titles = ["numbers per token and layer", "bytes per token", "sequences that fit"];
  const head = tableHead(["", ...titles, "reading it once"], (i) => i > 0);
  const label = "The cache, beside the memory of the accelerator";
  const memory = el("table", { class: "mhsa-memory", "aria-label": label }, bars);
  const table = el("table", { "aria-label": "What each kind keeps" }, head, rows);
  return { bars, rows, node: el("div", {}, memory, scroller("Numbers", table)) };
}

/** @type {(cache: Kept, chosen: boolean) => HTMLElement} */
function kindLine({ kind, numbers, token, fit, seconds }, chosen) {
  const cells = [grouped(numbers), grouped(token), grouped(fit), duration(seconds)];
  const look = { class: chosen ? "mhsa-chosen" : null };
  return el("tr", look, rowName(kind), cells.map(numberCell));
}

/** @param {Place} place */
function render({ model: traits, el: root }) {
  const { body, signal, end } = frame(root, "cache-calculator");
  const accelerators = /** @type {Device[]} */ (traits.get("accelerators"));
  const chosen = chosenIn(traits);
  const choices = choicesOf(traits, chosen, signal);
  const controls = sizeControls({
    most: { ...LOADS, ...CACHE_DIALS },
    signal,
    rule: (sizes) => (chosen.asked() === "GQA" ? lawInWords(sizes) : ""),
    read: () => {
      const sizes = /** @type {Record<string, number>} */ (/** @type {unknown} */ (chosen.sizes()));
      const own = SIZE_NAMES.map((name) => [name, sizes[name]]);
      return { ...readAll(traits, LOAD_NAMES), ...Object.fromEntries(own) };
    },
    put: (changes) => {
      if (LOAD_NAMES.some((name) => name in changes)) writeAll(traits, changes);
      else chosen.own(changes);
    },
  });
  const picture = memoryPicture();
  const said = spoken();
  const note = el("p", { class: "mhsa-quiet" });
  const dials = Object.values(controls.nodes);
  const nodes = Object.values(choices).map(({ node }) => node);
  const bar = el("div", { class: "mhsa-controls mhsa-columns" }, nodes, dials);
  body.append(bar, controls.notice, picture.node, said.node, note);

  /** @type {(found: Kept[], sizes: CacheSizes, memory: number) => void} */
  function drawPicture(found, sizes, memory) {
    const [kind, configured] = [chosen.kind(), chosen.configured()];
    choices.kind.show(KINDS.indexOf(kind));
    KINDS.forEach((name, i) => {
      choices.kind.select.options[i].disabled = !found.some((row) => row.kind === name);
    });
    /** @type {(row: Kept) => [string, number, boolean]} */
    const need = (row) => {
      const told = row.kind === configured ? ", configured" : "";
      return [kindInWords(row.kind, sizes) + told, row.total, row.kind === kind];
    };
    picture.bars.replaceChildren(...memoryRows(found.map(need), memory));
    picture.rows.replaceChildren(...found.map((row) => kindLine(row, row.kind === kind)));
  }

  function draw() {
    const sizes = chosen.sizes();
    const { model, dtype, accelerator } = choices;
    model.show(model.options.indexOf(traits.get("model")));
    dtype.show(dtype.options.indexOf(traits.get("dtype")));
    accelerator.show(accelerator.options.indexOf(traits.get("accelerator")));
    const valid = controls.draw();
    controls.nodes.n_kv_heads.hidden = chosen.asked() !== "GQA";
    picture.node.hidden = !valid && !picture.rows.hasChildNodes();
    if (!valid) return;
    const device = accelerators[accelerator.select.selectedIndex];
    const itemsize = NUMBER_BYTES[traits.get("dtype")];
    const load = /** @type {CacheLoad} */ ({ ...readAll(traits, LOAD_NAMES), itemsize });
    const found = cacheOf(sizes, load, device);
    drawPicture(found, sizes, device.memory);
    const mine = found.find((row) => row.kind === chosen.kind());
    if (mine) said.say(inWords(mine, sizes, load, device));
    note.textContent = noted(chosen.known());
  }

  const names = ["model", "kind", "dtype", "accelerator", ...SIZE_NAMES, ...LOAD_NAMES];
  watch(traits, names, draw, signal);
  draw();
  return end;
}

export default { render };
