// @ts-check
// Sliders that choose among stored outputs: one of them is in sight, all keep their room.

import { el, uid } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write } from "../shared/traits.js";

/** @import { Place } from "../shared/frame.js" */
/** @typedef {{ text: string, pictures: string[], alt: string }} Output */

/** @type {(names: string[], texts: string[]) => string} */
export const inWords = (names, texts) => names.map((name, i) => `${name} = ${texts[i]}`).join(", ");

/**
 * Which output belongs to some positions: the last list runs fastest.
 * @type {(at: number[], sizes: number[]) => number}
 */
export const placeOf = (at, sizes) => at.reduce((sum, i, k) => sum * sizes[k] + i, 0);

/** The positions of every output, in order. @type {(sizes: number[]) => number[][]} */
export const everyPlace = (sizes) =>
  sizes.reduce(
    (all, size) => all.flatMap((at) => Array.from({ length: size }, (_, i) => [...at, i])),
    /** @type {number[][]} */ ([[]]),
  );

/**
 * A slider over texts, with the chosen one beside it.
 * @param {{ label: string, texts: string[], signal: AbortSignal,
 *   change: (index: number) => void }} about
 */
function slider({ label, texts, signal, change }) {
  const id = uid();
  const range = el("input", { type: "range", id, min: 0, max: texts.length - 1, step: 1 });
  const now = el("span", { class: "mhsa-now", "aria-hidden": "true" });
  const rooms = texts.map((text) => el("span", {}, text));
  /** @type {(index: number) => void} */
  function show(index) {
    range.value = `${index}`;
    range.setAttribute("aria-valuetext", texts[index]);
    rooms.forEach((room, i) => room.classList.toggle("mhsa-chosen", i === index));
  }
  now.append(...rooms);
  range.addEventListener("input", () => change(Number(range.value)), { signal });
  const node = el("div", { class: "mhsa-slide" }, el("label", { for: id }, label), range, now);
  return { node, show };
}

/** @type {(output: Output, name: string) => HTMLElement} */
function sheet({ text, pictures, alt }, name) {
  const images = pictures.map((src) => el("img", { src, alt }));
  const inside = [text ? el("pre", {}, text) : null, ...images];
  return el("div", { role: "group", "aria-label": name }, inside);
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "interact");
  const { names, values, outputs } = readAll(model, ["names", "values", "outputs"]);
  const sizes = values.map((/** @type {string[]} */ texts) => texts.length);
  const words = everyPlace(sizes).map((at) =>
    inWords(
      names,
      at.map((i, k) => values[k][i]),
    ),
  );
  const said = spoken();
  said.node.classList.add("mhsa-hidden"); // eyes see the sliders, and this line comes later
  const sliders = names.map((/** @type {string} */ label, /** @type {number} */ k) => {
    /** @type {(index: number) => void} */
    const change = (index) => write(model, "at", model.get("at").with(k, index));
    return slider({ label, texts: values[k], signal, change });
  });
  const sheets = outputs.map((/** @type {Output} */ one, /** @type {number} */ i) =>
    sheet(one, words[i]),
  );
  const nodes = sliders.map((/** @type {ReturnType<typeof slider>} */ one) => one.node);
  body.append(
    el("div", { class: "mhsa-controls" }, nodes),
    said.node,
    el("div", { class: "mhsa-stack" }, sheets),
  );

  function draw() {
    const at = /** @type {number[]} */ (model.get("at"));
    const shown = placeOf(at, sizes);
    at.forEach((index, k) => sliders[k].show(index));
    sheets.forEach((/** @type {HTMLElement} */ one, /** @type {number} */ i) =>
      one.classList.toggle("mhsa-chosen", i === shown),
    );
    said.say(`${words[shown]} (setting ${shown + 1} of ${words.length})`);
  }
  watch(model, ["at"], draw, signal);
  draw();
  return end;
}

export default { render };
