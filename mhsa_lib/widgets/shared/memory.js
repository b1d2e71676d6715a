// What needs memory, beside the memory there is: bars in bytes, and in words whether it fits.

import { el, fixed, grouped } from "./kit.js";
import { binary } from "./costs.js";

/** Whether the cache fits, in words. */
export function fits(cache, { name, memory }) {
  const share = cache / memory;
  const room = `the ${binary(memory)} of one ${name}`;
  if (share > 1)
    return `The cache of ${binary(cache)} does not fit: it is ${share < 1000 ? fixed(share, 1) : grouped(share)} times ${room}.`;
  const percent = 100 * share < 1 ? "less than 1" : fixed(100 * share, 0);
  return `The cache of ${binary(cache)} takes ${percent} % of ${room}; the model's weights need room beside it.`;
}

/** A table row for each [label, bytes, chosen], on one linear scale; a line where memory ends. */
export function memoryRows(rows, memory) {
  const most = Math.max(memory, ...rows.map(([, count]) => count));
  const share = (count) => `${(100 * count) / most}%`;
  return rows
    .map(([label, count, chosen]) =>
      el(
        "tr",
        { class: chosen ? "mhsa-chosen" : null },
        el("th", { scope: "row" }, label),
        el(
          "td",
          { class: "mhsa-track" },
          el("div", { class: "mhsa-bar", style: `width:${share(count)}` }),
          el("div", { class: "mhsa-end", style: `left:${share(memory)}` }),
        ),
        el("td", { class: "mhsa-number" }, binary(count)),
      ),
    )
    .concat(
      el(
        "tr",
        { class: "mhsa-legend" },
        el("th", { scope: "row" }, "memory ends at the line"),
        el("td"),
        el("td", { class: "mhsa-number" }, binary(memory)),
      ),
    );
}
