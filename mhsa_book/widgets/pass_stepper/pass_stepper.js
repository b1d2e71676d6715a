// @ts-check
// A recorded pass of any attention: its stages as steps, and for each number those it was made of.

import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { closure } from "../shared/places.js";
import { makeSheets } from "../shared/sheets.js";
import { spoken } from "../shared/spoken.js";
import { markNew, pointing, stepButtons, stepRoom } from "../shared/stepper.js";
import { watch, write } from "../shared/traits.js";
import { origin, unpacked } from "./recorded.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { At } from "../shared/places.js" */
/** @import { Sheets } from "../shared/sheets.js" */
/** @import { Pass } from "./recorded.js" */

const HINT =
  "Point at a number, or reach it with Tab and the arrow keys, to see where it comes from.";

/**
 * The sheets of a stage: what it makes, each behind what it is made of, and what is shared by all.
 * @type {(pass: Pass, sheets: Sheets, i: number) => { shown: HTMLElement[], past: HTMLElement[] }}
 */
function arranged({ steps, uses, axes }, { of }, i) {
  const { makes } = steps[i];
  /** @type {(name: string) => HTMLElement} */
  const put = (name) => el("div", { class: "mhsa-sheets" }, of[name]);
  const lists = makes.map((wire) => uses[wire]);
  const shared =
    makes.length > 1 ? lists[0].filter((name) => lists.every((list) => list.includes(name))) : [];
  const lines = makes.map((wire, k) => {
    const own = lists[k].filter((name) => !shared.includes(name)).map(put);
    const arrow = el("span", { class: "mhsa-sign" }, "→");
    return el("div", { class: "mhsa-group" }, own, arrow, put(wire));
  });
  const now = new Set([...lists.flat(), ...makes]);
  const met = new Set(steps.slice(0, i).flatMap((step) => step.makes));
  const old = Object.keys(axes).filter((name) => met.has(name) && !now.has(name));
  return {
    shown: [...shared.map(put), el("div", { class: "mhsa-groups" }, lines)],
    past: old.flatMap((name) => of[name]),
  };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "pass-stepper");
  body.classList.add("mhsa-stepper");
  const pass = unpacked(model.get("recorded"));
  const { steps, wires, axes } = pass;
  /** @type {(place: At) => At[]} */
  const parents = (place) => pass.parents[place.join(" ")] ?? [];
  const index = () => Math.min(model.get("step"), steps.length - 1);
  /** @type {(i: number) => void} */
  const go = (i) => {
    pointed.forget();
    write(model, "selected", []);
    write(model, "step", i);
  };
  const names = steps.map(({ step }) => step);
  const buttons = stepButtons({ names, label: "Stages of the pass", index, go, signal });
  const { says, panel, earlier, sofar } = stepRoom(false);
  const said = spoken();
  const sheets = makeSheets({
    wires,
    axes,
    open: [],
    colours: model.get("colours"),
    signal,
    select: (place) => write(model, "selected", place),
  });
  const pointed = pointing(body, sheets, light, signal);
  sheets.write(wires);
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, buttons.back, buttons.next),
    buttons.list,
    says,
    panel,
    el("div", { class: "mhsa-bar" }, said.node),
    sofar,
    el("p", { class: "mhsa-hint" }, HINT),
  );

  function arrange() {
    const i = index();
    const { shown, past } = arranged(pass, sheets, i);
    panel.replaceChildren(...shown);
    earlier.replaceChildren(...past);
    sofar.hidden = past.length === 0;
    markNew(sheets, steps[i].makes);
    buttons.show(i);
    says.textContent = `${i + 1}. ${steps[i].says}`;
    light();
  }

  function light() {
    const chosen = sheets.cells.get(model.get("selected").join(" "));
    const [made] = steps[index()].makes;
    const first = /** @type {At} */ ([made, ...axes[made].map(() => 0)]);
    const inSight = chosen && body.contains(chosen.td) ? chosen.place : first;
    const place = pointed.now() ?? inSight;
    sheets.light(place, parents(place), closure(place, parents));
    said.say(origin(place, pass), 0);
  }

  watch(model, ["step"], arrange, signal);
  watch(model, ["selected"], light, signal);
  arrange();
  return end;
}

export default { render };
