// @ts-check
// A choice, a switch and a button, each with its label.

import { el, uid } from "./elements.js";

/**
 * A labelled choice among texts; `change` gets the position of the chosen one.
 * @param {{ label: string, options: string[], value: number, signal: AbortSignal,
 *   change: (index: number) => void }} about
 */
export function choice({ label, options, value, signal, change }) {
  const id = uid();
  const texts = options.map((text) => el("option", {}, text));
  const select = el("select", { id }, texts);
  /** @type {(index: number) => void} */
  const show = (index) => {
    select.selectedIndex = index;
  };
  show(value);
  select.addEventListener("change", () => change(select.selectedIndex), { signal });
  const node = el("div", { class: "mhsa-choice" }, el("label", { for: id }, label), select);
  return { node, show, select };
}

/** @typedef {ReturnType<typeof choice>} Choice */

/**
 * A switch with its label beside it.
 * @param {{ label: string, value: boolean, signal: AbortSignal,
 *   change: (on: boolean) => void }} about
 */
export function check({ label, value, signal, change }) {
  const box = el("input", { type: "checkbox", id: uid() });
  /** @type {(on: boolean) => void} */
  const show = (on) => {
    box.checked = on;
  };
  show(value);
  box.addEventListener("change", () => change(box.checked), { signal });
  return { node: el("label", { class: "mhsa-check" }, box, label), box, show };
}

/** @typedef {ReturnType<typeof check>} Check */

/**
 * @type {(about: { label: string, signal: AbortSignal, press: () => void }) => HTMLButtonElement}
 */
export function button({ label, signal, press }) {
  const node = el("button", { type: "button", class: "mhsa-button" }, label);
  node.addEventListener("click", press, { signal });
  return node;
}
