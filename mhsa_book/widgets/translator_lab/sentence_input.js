// @ts-check
// The sentence that is translated: typed, or chosen word by word.

import { button } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { notice } from "../shared/notice.js";
import { writeAll } from "../shared/traits.js";
import { read } from "./rules.js";
import { drawnSlots, slotsOf } from "./slots.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Tables } from "./rules.js" */
/** @import { Slot } from "./slots.js" */

const NONE = "–";

/**
 * A field, a menu for each word, and what is wrong with what was typed.
 * @param {Model} model @param {Tables} tables @param {AbortSignal} signal
 */
export function sentenceInput(model, tables, signal) {
  const quiet = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
  const typed = el("input", { type: "text", id: uid(), ...quiet });
  const place = notice({ signal });
  const about = { class: "mhsa-menus", role: "group", "aria-label": "The sentence word by word" };
  const menus = el("div", about);
  /** @type {(text: string) => void} */
  function set(text) {
    const { problem } = read(text, tables);
    typed.setAttribute("aria-invalid", `${problem !== undefined}`);
    if (problem === undefined) {
      place.wrong(null);
      writeAll(model, { sentence: text.split(/\s+/).filter(Boolean).join(" "), word: null });
      return show();
    }
    const last = model.get("sentence");
    const short = last.length > 20 ? `${last.slice(0, 19)}…` : last;
    return place.wrong(problem, [[`sentence = “${short}”`, () => set(last)]]);
  }
  typed.addEventListener("change", () => set(typed.value), { signal });

  const selects = /** @type {Map<string, HTMLSelectElement>} */ (new Map());
  let slots = /** @type {Slot[]} */ ([]);
  /** @type {(label: string) => HTMLSelectElement} */
  function selectOf(label) {
    const select = selects.get(label) ?? el("select", { "aria-label": label });
    if (!selects.has(label)) {
      const chosen = () => {
        const slot = slots.find((one) => one.label === label);
        if (slot) set(slot.made[select.selectedIndex]);
      };
      select.addEventListener("change", chosen, { signal });
      selects.set(label, select);
    }
    return select;
  }
  /** @type {(slot: Slot) => HTMLElement} */
  function menu({ label, kind, options, value, known }) {
    const select = selectOf(label);
    if (select.options.length !== options.length) {
      select.replaceChildren(...options.map((word) => el("option", {}, word || NONE)));
    }
    options.forEach((word, i) => {
      select.options[i].disabled = !known[i] && word !== value;
    });
    select.selectedIndex = options.indexOf(value);
    return select.closest("label") ?? el("label", {}, el("span", {}, kind), select);
  }
  /** What stands there is what the model reads. */
  function show() {
    const text = model.get("sentence");
    const { sentence } = read(text, tables);
    if (typed.value !== text) typed.value = text;
    typed.setAttribute("aria-invalid", "false");
    place.say({});
    if (!sentence) return;
    const labels = slots.map(({ label }) => label).join();
    slots = slotsOf(sentence, tables);
    const [now, focused] = [slots.map(menu), document.activeElement];
    if (labels === slots.map(({ label }) => label).join()) return;
    menus.replaceChildren(...now);
    if (menus.contains(focused)) /** @type {HTMLElement} */ (focused).focus();
  }
  const another = button({
    label: "Another sentence",
    signal,
    press: () => set(drawnSlots(tables)),
  });
  const label = el("label", { for: typed.id }, "Sentence");
  return { controls: [label, typed, another], menus, notice: place.node, show };
}
