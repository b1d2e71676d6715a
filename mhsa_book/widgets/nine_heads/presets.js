// @ts-check
// Buttons that switch some heads off at once.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { caseOf } from "./cases.js";

/** @import { Walk } from "./sayings.js" */

/**
 * `set` hears which heads a button switches off.
 * @param {{ walks: Walk[], set: (off: number[]) => void, signal: AbortSignal }} about
 */
export function presets({ walks, set, signal }) {
  const buttons = walks.map(([label, off]) => button({ label, signal, press: () => set(off) }));
  const node = el(
    "div",
    { class: "mhsa-guide", role: "group", "aria-label": "Heads to switch off" },
    el("span", {}, el("span", { class: "mhsa-wide" }, "Switch "), "off:"),
    buttons,
  );
  /** Press the button of the heads that are off, if there is one.
   * @type {(off: number[]) => void} */
  function draw(off) {
    buttons.forEach((one, i) =>
      one.setAttribute("aria-pressed", `${caseOf(walks[i][1]) === caseOf(off)}`),
    );
  }
  return { node, draw };
}
