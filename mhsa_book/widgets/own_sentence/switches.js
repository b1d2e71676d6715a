// @ts-check
// A switch for every head, and one for each layer.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { rove } from "../shared/roving_tabindex.js";
import { write } from "../shared/traits.js";

/** @import { Model } from "../shared/traits.js" */

/**
 * `off` of the model holds the heads that are off, counted through all layers.
 * @param {Model} model @param {number} layers @param {number} heads @param {AbortSignal} signal
 */
export function switches(model, layers, heads, signal) {
  const off = () => /** @type {number[]} */ (model.get("off"));
  /** @type {(which: number[], on: boolean) => void} */
  function turn(which, on) {
    const others = off().filter((head) => !which.includes(head));
    write(model, "off", on ? others : [...others, ...which].toSorted((a, b) => a - b));
  }
  /** @type {(label: string, text: string, which: number[]) => HTMLButtonElement} */
  function key(label, text, which) {
    const node = el("button", { type: "button", class: "mhsa-switch", "aria-label": label }, text);
    const press = () =>
      turn(
        which,
        which.every((head) => off().includes(head)),
      );
    node.addEventListener("click", press, { signal });
    return node;
  }
  const singles = upTo(layers * heads).map((i) =>
    key(`layer ${Math.floor(i / heads)}, head ${i % heads}`, "", [i]),
  );
  rove(singles, heads, signal);
  const rows = upTo(layers).map((layer) => upTo(heads).map((h) => layer * heads + h));
  const whole = rows.map((row, layer) => key(`layer ${layer}, all heads`, `${layer}`, row));
  const above = ["all", ...upTo(heads)].map((text) => el("span", { "aria-hidden": "true" }, text));
  const about = { class: "mhsa-switches", role: "group", style: `--heads:${heads}` };
  const label = "Switches of all heads; arrow keys move, Space switches";
  const lines = rows.flatMap((row, layer) => [whole[layer], ...row.map((i) => singles[i])]);
  const allOn = button({ label: "All heads on", signal, press: () => write(model, "off", []) });
  const grid = el("div", { ...about, "aria-label": label }, above, lines);
  function draw() {
    const now = new Set(off());
    singles.forEach((node, i) => node.setAttribute("aria-pressed", `${!now.has(i)}`));
    rows.forEach((row, layer) => {
      whole[layer].setAttribute("aria-pressed", `${!row.every((i) => now.has(i))}`);
    });
  }
  return { grid, allOn, draw };
}
