// @ts-check
// All heads small, each with its switch, and a button for a whole layer.

import { channels, weightColour } from "../shared/colours.js";
import { button, choice, check } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { write } from "../shared/traits.js";
import { HEADS, LAYERS, headName } from "./model.js";
import { sides } from "./running.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Shown } from "./running.js" */

const GROUPS = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};
const STANDS = ["zero", "mean"];
const SHADES = Array.from({ length: 256 }, (_, i) => channels(weightColour(i / 255)));

/**
 * One pixel for a weight; the page enlarges them. What a query may not see stays white.
 * @type {(canvas: HTMLCanvasElement, weights: number[][], columns: number) => void}
 */
function paint(canvas, weights, columns) {
  [canvas.width, canvas.height] = [columns, weights.length];
  const image = new ImageData(columns, weights.length);
  image.data.fill(255);
  weights.forEach((row, q) =>
    row.forEach((weight, k) => {
      image.data.set(SHADES[Math.round(255 * weight)], 4 * (q * columns + k));
    }),
  );
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/** @type {(model: Model, names: string[], on: boolean) => void} */
function turn(model, names, on) {
  const others = /** @type {string[]} */ (model.get("off")).filter((one) => !names.includes(one));
  write(model, "off", on ? others : [...others, ...names]);
}

/** One head small. @param {Model} model @param {string} name @param {AbortSignal} signal */
function card(model, name, signal) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const show = el("button", { type: "button", class: "mhsa-small" }, canvas);
  show.setAttribute("aria-label", `Show ${name}`);
  show.addEventListener("click", () => write(model, "head", name), { signal });
  const label = name.split(" ")[1];
  const one = check({ label, value: true, signal, change: (on) => turn(model, [name], on) });
  one.box.setAttribute("aria-label", name);
  const node = el("div", { class: "mhsa-card" }, show, one.node);
  let painted = /** @type {number[][]} */ ([]);
  /** @type {(shown: Shown) => void} */
  const draw = (shown) => {
    const off = shown.off.includes(name);
    if (painted !== shown.weights[name]) {
      painted = shown.weights[name];
      paint(canvas, painted, sides({ ...shown, head: name }).columns.length);
    }
    one.show(!off);
    node.classList.toggle("mhsa-off", off);
    show.setAttribute("aria-pressed", `${shown.head === name}`);
  };
  return { node, draw };
}

/**
 * The heads of one layer.
 * @param {Model} model @param {string[]} names @param {AbortSignal} signal
 */
function layerOf(model, names, signal) {
  const cards = names.map((name) => card(model, name, signal));
  const [where] = names[0].split("H");
  const all = button({ label: "", signal, press });
  function press() {
    const off = /** @type {string[]} */ (model.get("off"));
    turn(
      model,
      names,
      names.every((name) => off.includes(name)),
    );
  }
  const about = { class: "mhsa-layer", role: "group", "aria-label": where };
  const node = el(
    "div",
    about,
    cards.map((one) => one.node),
    all,
  );
  /** @type {(shown: Shown) => void} */
  const draw = (shown) => {
    cards.forEach((one) => one.draw(shown));
    const silent = names.every((name) => shown.off.includes(name));
    all.textContent = silent ? "all on" : "all off";
    all.setAttribute("aria-label", `${where}: ${all.textContent}`);
  };
  return { node, draw };
}

/** All heads, by kind and layer. @param {Model} model @param {AbortSignal} signal */
export function board(model, signal) {
  const groups = Object.entries(GROUPS).map(([kind, title]) => {
    const layers = upTo(LAYERS).map((layer) => {
      const names = upTo(HEADS).map((h) => headName(kind, layer, h));
      return layerOf(model, names, signal);
    });
    const nodes = layers.map(({ node }) => node);
    const node = el("div", { class: "mhsa-kind" }, el("p", { class: "mhsa-title" }, title), nodes);
    return { node, layers };
  });
  const stands = choice({
    label: "a head that is off gives",
    options: ["nothing: 0", "its mean, whatever it reads"],
    value: STANDS.indexOf(model.get("instead")),
    signal,
    change: (i) => write(model, "instead", STANDS[i]),
  });
  const allOn = button({ label: "All heads on", signal, press: () => write(model, "off", []) });
  const controls = el("div", { class: "mhsa-controls" }, allOn, stands.node);
  const node = el(
    "div",
    { class: "mhsa-board" },
    controls,
    groups.map((one) => one.node),
  );
  /** @type {(shown: Shown) => void} */
  const draw = (shown) => {
    allOn.disabled = shown.off.length === 0;
    stands.show(STANDS.indexOf(shown.instead));
    for (const { layers } of groups) layers.forEach((one) => one.draw(shown));
  };
  return { node, draw };
}
