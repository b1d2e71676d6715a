// @ts-check
// Weights as pictures: all heads small, each with its switch, and one of them large.

import { channels, weightColour } from "../shared/colours.js";
import { el, svg, uid } from "../shared/elements.js";
import { clamp, upTo } from "../shared/numbers.js";
import { write } from "../shared/traits.js";
import { headName } from "./guesses.js";
import { largest } from "./model.js";
import { tokenSign } from "./texts.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Shown } from "./guesses.js" */
/** @import { HeadAt } from "./model.js" */

const LABELLED = 26; // with more tokens than this, only the row and column in question get names
const SHADES = Array.from({ length: 256 }, (_, i) => channels(weightColour(i / 255)));

/** @type {(one: HeadAt, other: HeadAt) => boolean} */
export const sameHead = (one, other) => `${one}` === `${other}`;

/**
 * One pixel for a weight; the page enlarges them. What a query may not see stays white.
 * @type {(canvas: HTMLCanvasElement, weights: number[][]) => void}
 */
function paint(canvas, weights) {
  const n = weights.length;
  [canvas.width, canvas.height] = [n, n];
  const image = new ImageData(n, n);
  image.data.fill(255);
  weights.forEach((row, q) =>
    row.slice(0, q + 1).forEach((weight, k) => {
      image.data.set(SHADES[Math.round(255 * weight)], 4 * (q * n + k));
    }),
  );
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/**
 * One head small: a press enlarges it, and a switch silences it.
 * @param {Model} model @param {HeadAt} head @param {string} habit @param {AbortSignal} signal
 */
function card(model, head, habit, signal) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const label = `Enlarge ${headName(head)}, ${habit}`;
  const show = el("button", { type: "button", class: "mhsa-map", "aria-label": label }, canvas);
  show.addEventListener("click", () => write(model, "large", head), { signal });
  const box = el("input", { type: "checkbox", id: uid() });
  const turn = () => {
    const off = /** @type {HeadAt[]} */ (model.get("off"));
    const others = off.filter((one) => !sameHead(one, head));
    write(model, "off", box.checked ? others : [...others, head]);
  };
  box.addEventListener("change", turn, { signal });
  const name = el("label", { class: "mhsa-check" }, box, headName(head));
  const note = el("span", { class: "mhsa-habit" }, habit);
  const node = el("div", { class: "mhsa-card" }, show, name, note);
  /** @type {(weights: number[][], off: boolean, large: boolean) => void} */
  const draw = (weights, off, large) => {
    paint(canvas, weights);
    box.checked = !off;
    node.classList.toggle("mhsa-off", off);
    show.setAttribute("aria-pressed", `${large}`);
  };
  return { node, draw };
}

/**
 * All heads small, layer by layer.
 * @param {Model} model
 * @param {string[][]} habits
 * @param {AbortSignal} signal
 */
export function smallMaps(model, habits, signal) {
  const cards = habits.map((row, layer) =>
    row.map((habit, head) => card(model, [layer, head], habit, signal)),
  );
  const layers = cards.map((row, layer) => {
    const about = { class: "mhsa-layer", role: "group", "aria-label": `Heads of layer ${layer}` };
    const nodes = row.map(({ node }) => node);
    return el("div", about, nodes);
  });
  /** @type {(weights: number[][][][], off: HeadAt[], large: HeadAt) => void} */
  const draw = (weights, off, large) =>
    cards.forEach((row, layer) =>
      row.forEach((one, head) => {
        const at = [layer, head];
        const silent = off.some((other) => sameHead(other, at));
        one.draw(weights[layer][head], silent, sameHead(large, at));
      }),
    );
  return { node: el("div", { class: "mhsa-layers" }, layers), draw };
}

/**
 * Names of the tokens at two sides, and the row of the chosen one.
 * @type {(shown: Shown, title: string, margin: number) => SVGElement}
 */
function namesAround({ alphabet, ids, position, looks }, title, margin) {
  const n = ids.length;
  const [top] = largest(looks, 1);
  const size = n + margin;
  /** @type {(i: number, x: number, y: number, anchor: string) => SVGElement} */
  const label = (i, x, y, anchor) => {
    const about = { x, y, "text-anchor": anchor, "font-size": size / 26 };
    return svg("text", about, tokenSign(alphabet, ids[i]));
  };
  /** @type {(chosen: number) => number[]} */
  const named = (chosen) => upTo(n).filter((i) => n <= LABELLED || i === chosen);
  const viewBox = `${-margin} 0 ${size} ${size}`;
  const says = `Heat map: ${title}. Queries run down, keys to the right.`;
  return svg(
    "svg",
    { viewBox, role: "img", "aria-label": says },
    svg("rect", { x: 0, y: position, width: n, height: 1, class: "mhsa-row" }),
    named(position).map((i) => label(i, -0.3, i + 0.78, "end")),
    named(top).map((i) => label(i, i + 0.5, n + margin * 0.72, "middle")),
  );
}

/**
 * The chosen head large; `choose` hears which row was pressed.
 * @type {(shown: Shown, weights: number[][], habit: string, choose: (position: number) => void,
 *   signal: AbortSignal) => HTMLElement[]}
 */
export function enlarged(shown, weights, habit, choose, signal) {
  const { ids, head, off } = shown;
  const canvas = el("canvas", { "aria-hidden": "true" });
  paint(canvas, weights);
  const n = ids.length;
  const margin = Math.max(1.4, n / 22);
  const share = (100 * margin) / (n + margin);
  canvas.style.cssText = `left:${share}%;width:${100 - share}%;height:${100 - share}%`;
  const title = `Layer ${head[0]}, head ${head[1]}: ${habit}`;
  const picture = namesAround(shown, title, margin);
  /** @type {(event: PointerEvent) => void} */
  const pressed = ({ clientY }) => {
    const { top, height } = canvas.getBoundingClientRect();
    choose(clamp(Math.floor((n * (clientY - top)) / height), 0, n - 1));
  };
  picture.addEventListener("pointerdown", pressed, { signal });
  const silent = off.some((one) => sameHead(one, head));
  const note = silent ? el("b", {}, " (off: it looks, but writes nothing)") : null;
  return [
    el("p", { class: "mhsa-title" }, title, note),
    el("div", { class: "mhsa-sheet" }, canvas, picture),
    el("p", { class: "mhsa-axes" }, "query ↓  key →"),
  ];
}
