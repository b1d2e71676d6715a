// @ts-check
// Attention of a real model on a real accelerator: what it holds, and what limits each stage.

import { el, scroller } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { fits, memoryRows } from "../shared/memory.js";
import { notice } from "../shared/notice.js";
import { binary, duration, fixed, grouped, short } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { readAll, watch } from "../shared/traits.js";
import { EVERY_TRAIT, changes, controlsOf, showControls } from "./cost_controls.js";
import { regime, roofline } from "./roofline.js";
import { costOf } from "./variants.js";
import { lacks, needs, notes, sizesInWords } from "./words.js";

/** @import { Accelerator, Configuration, StageWork } from "../shared/costs.js" */
/** @import { Place } from "../shared/frame.js" */
/** @import { Chosen } from "./words.js" */

/** Where the numbers are drawn. */
function pictures() {
  const [memory, stages] = [el("tbody"), el("tbody")];
  const roof = el("div", { class: "mhsa-roof" });
  const head = tableHead(
    ["stage", "FLOPs", "bytes", "FLOP/byte", "limit", "least time"],
    (i) => i !== 0 && i !== 4,
  );
  const table = el("table", { "aria-label": "The three stages, all layers" }, head, stages);
  const about = {
    class: "mhsa-memory",
    "aria-label": "Bytes, beside the memory of the accelerator",
  };
  const bars = el("table", about, memory);
  return { memory, bars, roof, stages, limits: scroller("Stages", table) };
}

/** @type {(work: StageWork, layers: number) => HTMLElement} */
function stageRow({ stage, flops, bytes: moved, intensity, limit, seconds }, layers) {
  const per = intensity < 100 ? fixed(intensity, 1) : short(Math.round(intensity));
  const counts = [short(layers * flops), binary(layers * moved), per].map(numberCell);
  const time = numberCell(duration(layers * seconds));
  return el("tr", {}, rowName(stage), counts, el("td", {}, limit), time);
}

/** @param {Place} place */
function render({ model: traits, el: root }) {
  const { body, signal, end } = frame(root, "cost-lab");
  const models = /** @type {Configuration[]} */ (traits.get("models"));
  const accelerators = /** @type {Accelerator[]} */ (traits.get("accelerators"));
  const change = changes(traits);
  const place = notice({ signal });
  const controls = controlsOf(traits, change, place, signal);
  const { memory, bars, roof, stages, limits } = pictures();
  const said = spoken();
  const note = el("p", { class: "mhsa-quiet" });
  const nodes = [controls.choices, controls.dials].flatMap((group) => Object.values(group));
  const all = [...nodes, controls.fused].map(({ node }) => node);
  const bar = el("div", { class: "mhsa-controls mhsa-columns" }, all);
  body.append(bar, place.node, bars, roof, limits, said.node, note);

  /** @type {(accelerator: Accelerator, dtype: string) => void} */
  function refuse({ name, peak }, dtype) {
    const others = Object.keys(peak);
    place.say({
      error: `The ${lacks(name, dtype)}; choose ${others.join(" or ")}.`,
      fixes: others.map((other) => [`dtype = ${other}`, () => change.put("dtype", other)]),
    });
  }

  function draw() {
    const chosen = /** @type {Chosen} */ (readAll(traits, EVERY_TRAIT));
    const model = models.find(({ name }) => name === chosen.model) ?? models[0];
    const accelerator =
      accelerators.find(({ name }) => name === chosen.accelerator) ?? accelerators[0];
    showControls(controls, chosen, model, accelerator);
    const cost = costOf({ ...chosen, model, accelerator });
    const { peak } = cost;
    memory.replaceChildren(...memoryRows(needs(cost, model, chosen), accelerator.memory));
    for (const part of [roof, limits]) part.hidden = !peak;
    note.textContent = notes(model, accelerator);
    const room = fits(cost.caches[chosen.variant], accelerator);
    if (!peak) {
      refuse(accelerator, chosen.dtype);
      return said.say(room);
    }
    place.say({ change: change.words(chosen) });
    const known = { peak, stages: cost.stages };
    roof.replaceChildren(roofline(known, accelerator, chosen.phase, roof.clientWidth || 600));
    const mine = cost.stages.filter(({ phase }) => phase === chosen.phase);
    stages.replaceChildren(...mine.map((work) => stageRow(work, model.layers)));
    return said.say(
      `${sizesInWords(model, chosen)} on the ${accelerator.name}, `
        + `whose ridge is ${grouped(mine[0].ridge)}: ${mine.map(regime).join("; ")}. ${room}`,
    );
  }

  watch(traits, EVERY_TRAIT, draw, signal);
  drawToFit(roof, draw, signal);
  return end;
}

export default { render };
