// @ts-check
// What a reader does in the stepper: steps, other numbers, another mask; by mouse and by keys.

import { write, writeAll } from "../shared/traits.js";
import { INPUTS } from "./forward.js";
import { MASKS, denseMask } from "./masks.js";
import { STEPS } from "./steps.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { At } from "../shared/places.js" */
/** @import { Sheets } from "../shared/sheets.js" */

/** What the reader changes. @param {Model} model */
export function changes(model) {
  const stepCalled = (/** @type {string} */ name) => STEPS.findIndex(({ step }) => step === name);
  const index = () => stepCalled(model.get("step"));
  /** @type {(i: number) => void} */
  const go = (i) => {
    write(model, "selected", []);
    write(model, "step", STEPS[i].step);
  };
  /** @type {(at: At, value: unknown) => void} */
  function put([name, row, column], value) {
    const rows = model.get(name);
    write(model, name, rows.with(row, rows[row].with(column, value)));
  }
  /** @type {(name: string) => void} */
  function chooseMask(name) {
    if (name in MASKS) write(model, "mask", denseMask(name, model.get("mask").length));
    else go(stepCalled("mask"));
  }
  const restart = () => writeAll(model, model.get("start"));
  return { index, go, put, chooseMask, restart };
}

/**
 * A click or a key on a cell: those of the mask switch, inputs open for typing.
 * @param {HTMLElement} body @param {Sheets} sheets
 * @param {{ toggle: (at: At) => void, edit: () => void }} act @param {AbortSignal} signal
 */
export function pressing(body, sheets, { toggle, edit }, signal) {
  /** @type {(event: PointerEvent) => void} */
  function clicked(event) {
    const place = sheets.at(event)?.place;
    if (place?.[0] === "mask") toggle(place);
    if (place && INPUTS.includes(place[0]) && event.pointerType === "mouse") edit();
  }
  /** @type {(event: KeyboardEvent) => void} */
  function keyed(event) {
    const place = sheets.at(event)?.place;
    const press = event.key === "Enter" || event.key === " ";
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    if (place[0] === "mask" && press) toggle(place);
    else if (INPUTS.includes(place[0]) && (press || /^[-−+\d.,]$/.test(event.key))) edit();
    else return;
    if (press) event.preventDefault();
  }
  body.addEventListener("click", clicked, { signal });
  body.addEventListener("keydown", keyed, { signal });
}
