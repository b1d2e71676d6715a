// @ts-check
// What needs memory, beside the memory there is: bars in bytes, and in words whether it fits.

import { el } from "./elements.js";
import { binary, fixed, grouped } from "./numbers.js";

/**
 * Whether the cache fits, in words.
 * @type {(cache: number, accelerator: { name: string, memory: number }) => string}
 */
export function fits(cache, { name, memory }) {
  const share = cache / memory;
  const room = `the ${binary(memory)} of one ${name}`;
  if (share > 1) {
    const times = share < 1000 ? fixed(share, 1) : grouped(share);
    return `The cache of ${binary(cache)} does not fit: it is ${times} times ${room}.`;
  }
  const percent = 100 * share < 1 ? "less than 1" : fixed(100 * share, 0);
  return (
    `The cache of ${binary(cache)} takes ${percent} % of ${room}; `
    + "the model's weights need room beside it."
  );
}

/** Something that needs memory. @typedef {[label: string, bytes: number, chosen: boolean]} Need */

/**
 * A table row for each need, on one linear scale; a line where memory ends.
 * @type {(rows: Need[], memory: number) => HTMLElement[]}
 */
export function memoryRows(rows, memory) {
  const most = Math.max(memory, ...rows.map(([, count]) => count));
  /** @type {(count: number) => string} */
  const share = (count) => `${(100 * count) / most}%`;
  /** @type {(label: string) => HTMLElement} */
  const name = (label) => el("th", { scope: "row" }, label);
  /** @type {(count: number) => HTMLElement} */
  const number = (count) => el("td", { class: "mhsa-number" }, binary(count));
  /** @type {(count: number) => HTMLElement} */
  const track = (count) =>
    el(
      "td",
      { class: "mhsa-track" },
      el("div", { class: "mhsa-bar", style: `width:${share(count)}` }),
      el("div", { class: "mhsa-end", style: `left:${share(memory)}` }),
    );
  const bars = rows.map(([label, count, chosen]) =>
    el("tr", { class: chosen ? "mhsa-chosen" : null }, name(label), track(count), number(count)),
  );
  const legend = el("tr", { class: "mhsa-legend" }, name("memory ends at the line"));
  legend.append(el("td"), number(memory));
  return [...bars, legend];
}
