// @ts-check
// What the heads bring to the word that asks, side by side: z of each, which is concat.

import { el } from "../shared/elements.js";
import { fixed, upTo } from "../shared/numbers.js";

/** @import { Head } from "./attended.js" */

/** Nothing is a short 0. @type {(value: number) => string} */
const brief = (value) => (Math.abs(value) < 0.005 ? "0" : fixed(value));

/** @param {string[]} names of the heads @param {number} d_head */
export function concatRow(names, d_head) {
  const numbers = names.map(() => upTo(d_head).map(() => el("span", { class: "mhsa-z-is" })));
  const fours = numbers.map((four) => el("span", { class: "mhsa-brought" }, four));
  const boxes = names.map((name, h) =>
    el(
      "div",
      { class: `mhsa-z mhsa-head-${h}` },
      el("span", { class: "mhsa-from-head" }, name),
      fours[h],
    ),
  );
  const title = el("p", { class: "mhsa-stage" }, "concat: z of the heads, side by side");
  const row = el("div", { class: "mhsa-concat", role: "group", "aria-label": "concat" }, boxes);
  const node = el("div", {}, title, row, el("p", { class: "mhsa-stage" }, "↓ W_O adds them up"));

  /** @type {(heads: Head[], w: number, off: number[]) => void} */
  function draw(heads, w, off) {
    heads.forEach(({ z }, h) => {
      boxes[h].classList.toggle("mhsa-off", off.includes(h));
      numbers[h].forEach((one, i) => {
        one.textContent = brief(off.includes(h) ? 0 : z[w][i]);
      });
    });
  }
  return { node, draw };
}
