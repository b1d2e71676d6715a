// @ts-check
// What steppers share: buttons from step to step, the room for the sheets of a step, and pointing.

import { button } from "./controls.js";
import { el } from "./elements.js";
import { rove } from "./roving_tabindex.js";

/** @import { At } from "./places.js" */
/** @import { Sheets } from "./sheets.js" */

/**
 * Buttons back and on, and one for each step; `show` marks the step in sight.
 * @param {{ names: string[], label: string, index: () => number, go: (i: number) => void,
 *   signal: AbortSignal }} about
 */
export function stepButtons({ names, label, index, go, signal }) {
  const back = button({ label: "← Previous", signal, press: () => go(index() - 1) });
  const next = button({ label: "Next →", signal, press: () => go(index() + 1) });
  const tabs = names.map((name, i) => button({ label: name, signal, press: () => go(i) }));
  rove(tabs, tabs.length, signal);
  const items = tabs.map((one) => el("li", {}, one));
  const list = el("ol", { class: "mhsa-steps", "aria-label": label }, items);
  /** @type {(i: number) => void} */
  function show(i) {
    tabs.forEach((one, k) => {
      if (k === i) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
    });
    [back.disabled, next.disabled] = [i === 0, i === tabs.length - 1];
  }
  return { back, next, list, show };
}

/**
 * Room for the sheets of a step, for those of earlier ones, and for its sentence.
 * @param {boolean} open
 */
export function stepRoom(open) {
  const says = el("p", { class: "mhsa-says" });
  const panel = el("div", { class: "mhsa-panel" });
  const earlier = el("div", { class: "mhsa-earlier" });
  const title = el("summary", {}, "Earlier in the pass");
  const sofar = el("details", open ? { open: "" } : {}, title, earlier);
  return { says, panel, earlier, sofar };
}

/** Wires that a step has just made stand out. @type {(sheets: Sheets, made: string[]) => void} */
export function markNew({ of }, made) {
  for (const [wire, parts] of Object.entries(of)) {
    parts.forEach((part) => part.classList.toggle("mhsa-new", made.includes(wire)));
  }
}

/**
 * The place under the pointer, or null; `light` hears when it is another one.
 * @param {HTMLElement} body @param {Sheets} sheets @param {() => void} light
 * @param {AbortSignal} signal
 */
export function pointing(body, sheets, light, signal) {
  let pointed = /** @type {At | null} */ (null);
  /** @type {(place: At | null) => void} */
  const point = (place) => {
    if (place?.join() === pointed?.join()) return;
    pointed = place;
    light();
  };
  body.addEventListener("pointerover", (e) => point(sheets.at(e)?.place ?? null), { signal });
  body.addEventListener("pointerleave", () => point(null), { signal });
  const forget = () => {
    pointed = null;
  };
  return { now: () => pointed, forget };
}
