// @ts-check
// The pass in nine steps with all its numbers: point at one, and those it came from light up.

import { button, choice } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { numberAt } from "../shared/places.js";
import { makeSheets } from "../shared/sheets.js";
import { spoken } from "../shared/spoken.js";
import { markNew, pointing, stepButtons, stepRoom } from "../shared/stepper.js";
import { readAll, watch, write } from "../shared/traits.js";
import { AXES, INPUTS, forward } from "./forward.js";
import { MASKS, blindInWords, maskName } from "./masks.js";
import { ancestors, arithmetic, parents } from "./provenance.js";
import { changes, pressing } from "./reader.js";
import { STEPS, before, makes } from "./steps.js";
import { typing } from "./typed.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { At } from "../shared/places.js" */
/** @import { Sheets } from "../shared/sheets.js" */
/** @import { Given } from "./forward.js" */

const GIVEN = [...INPUTS, "mask", "n_heads"];
const MASK_NAMES = [...Object.keys(MASKS), "my own"];
const HINT =
  "Point at a number, or reach it with Tab and the arrow keys, to see where it comes from. "
  + "Dotted numbers can be changed: click, or press Enter.";

/**
 * The sheets of a step between their signs, one line per group or per head.
 * @type {(i: number, sheets: Sheets, heads: number) => HTMLElement[]}
 */
function stepSheets(i, { of }, heads) {
  const { shared = [], groups, heads: perHead } = STEPS[i];
  /** @type {(item: string, parts?: HTMLElement | HTMLElement[]) => HTMLElement} */
  const put = (item, parts = of[item]) =>
    item in AXES
      ? el("div", { class: "mhsa-sheets" }, parts)
      : el("span", { class: "mhsa-sign" }, item);
  const lines = perHead
    ? Array.from({ length: heads }, (_, h) => groups[0].map((item) => put(item, of[item]?.[h])))
    : groups.map((group) => group.map((item) => put(item)));
  const rows = lines.map((line) => el("div", { class: "mhsa-group" }, line));
  return [...shared.map((item) => put(item)), el("div", { class: "mhsa-groups" }, rows)];
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "stage-stepper");
  body.classList.add("mhsa-stepper");
  const { index, go, put, chooseMask, restart } = changes(model);
  const passed = () => forward(/** @type {Given} */ (readAll(model, GIVEN)));
  let wires = passed();
  let arranged = -1;

  const names = STEPS.map(({ step }) => step);
  const leaveTo = (/** @type {number} */ i) => {
    pointed.forget();
    go(i);
  };
  const buttons = stepButtons({ names, label: "Steps of the pass", index, go: leaveTo, signal });
  const reset = button({ label: "Reset", signal, press: restart });
  const masks = choice({
    label: "mask",
    options: MASK_NAMES,
    value: 0,
    signal,
    change: (i) => {
      chooseMask(MASK_NAMES[i]);
      draw();
    },
  });
  const { says, panel, earlier, sofar } = stepRoom(true);
  const note = el("p", { class: "mhsa-note" });
  const said = spoken();
  const sheets = makeSheets({
    wires,
    axes: AXES,
    open: [...INPUTS, "mask"],
    colours: model.get("colours"),
    signal,
    select: (place) => write(model, "selected", place),
  });
  const typed = typing({
    signal,
    put,
    place: () => model.get("selected"),
    stands: () => numberAt(wires, model.get("selected")),
    leave: (at) => {
      sheets.cells.get(at.join(" "))?.td.focus();
      light();
    },
  });
  const pointed = pointing(body, sheets, light, signal);
  const toggle = (/** @type {At} */ at) => put(at, !numberAt(wires, at));
  pressing(body, sheets, { toggle, edit: typed.edit }, signal);
  const onward = [buttons.back, buttons.next];
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, onward, reset, masks.node),
    buttons.list,
    says,
    note,
    panel,
    el("div", { class: "mhsa-bar" }, said.node, typed.field, typed.notice),
    sofar,
    el("p", { class: "mhsa-hint" }, HINT),
  );

  /** @type {(i: number) => void} */
  function arrange(i) {
    panel.replaceChildren(...stepSheets(i, sheets, wires.z.length));
    earlier.replaceChildren(...before(i).flatMap((wire) => sheets.of[wire]));
    sofar.hidden = i === 0;
    markNew(sheets, makes(STEPS[i]));
    buttons.show(i);
    says.textContent = `${i + 1}. ${STEPS[i].says}`;
    arranged = i;
  }

  function light() {
    const chosen = sheets.cells.get(model.get("selected").join(" "));
    const inSight = chosen && body.contains(chosen.td) ? chosen.place : null;
    const [made] = makes(STEPS[arranged]);
    const first = /** @type {At} */ ([made, ...AXES[made].map(() => 0)]);
    const place = pointed.now() ?? inSight ?? first;
    sheets.light(place, parents(place, wires), ancestors(place, wires));
    said.say(arithmetic(place, wires), 0);
    typed.show(inSight && INPUTS.includes(inSight[0]) ? inSight : null);
  }

  function draw() {
    wires = passed();
    if (arranged !== index()) arrange(index());
    sheets.write(wires);
    note.textContent = blindInWords(wires.mask);
    masks.show(MASK_NAMES.indexOf(maskName(wires.mask)));
    light();
  }

  watch(model, [...INPUTS, "mask", "step"], draw, signal);
  watch(model, ["selected"], light, signal);
  draw();
  return end;
}

export default { render };
