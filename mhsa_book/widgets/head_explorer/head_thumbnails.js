// @ts-check
// All heads small: a button each, in the order of the model or of a measure.

import { el } from "../shared/elements.js";
import { fixed, upTo } from "../shared/numbers.js";
import { ranked } from "./head_filters.js";
import { MEASURES } from "./measures.js";
import { paint, resize, weightCanvas } from "./weight_pixels.js";

/** @import { MeasuresOf, Weights } from "./measures.js" */
/**
 * Where a head is, and what it is called.
 * @typedef {{ layer: number, head: number, short: string, long: string }} Name
 */
/** @typedef {ReturnType<typeof smallButton>} Small */

const FEW = 40; // tokens that have a pixel of their own in a small map

/**
 * A number of a measure, or a dash where there is nothing to measure.
 * @type {(value: number) => string}
 */
export const measureWords = (value) => (Number.isNaN(value) ? "–" : fixed(value));

/**
 * One head, all its weights in pixels.
 * @param {Name} name
 * @param {number} rows
 * @param {number} columns
 */
function smallButton(name, rows, columns) {
  const [canvas, caption] = [weightCanvas(), el("span")];
  resize(canvas, rows, columns);
  const about = { type: "button", class: "mhsa-head", title: name.long };
  return { node: el("button", about, canvas, caption), canvas, caption, name };
}

/**
 * Numbers of layers and heads around the buttons, `columns` of them in a row.
 * @type {(nodes: HTMLElement[], columns: number) => HTMLElement[]}
 */
function numbered(nodes, columns) {
  /** @type {(text: string) => HTMLElement} */
  const label = (text) => el("span", { "aria-hidden": "true" }, text);
  const above = upTo(columns).map((head) => label(`${head}`));
  const lines = nodes.flatMap((node, i) =>
    i % columns ? [node] : [label(`${i / columns}`), node],
  );
  return [label(""), ...above, ...lines];
}

/**
 * `choose` hears which head is pressed, or reached by arrow keys.
 * @param {AbortSignal} signal
 * @param {(i: number) => void} choose
 */
export function smallHeads(signal, choose) {
  const about = { class: "mhsa-heads", role: "group" };
  const node = el("div", { ...about, "aria-label": "All heads; arrow keys choose one" });
  let heads = /** @type {Small[]} */ ([]);
  let order = /** @type {number[]} */ ([]);
  let size = { columns: 0, rows: 0, keys: 0 };
  let sorted = /** @type {boolean | null} */ (null);
  let [chosen, compared] = [0, /** @type {number | null} */ (null)];
  let silent = /** @type {number[]} */ ([]);

  /** @type {(event: MouseEvent) => void} */
  function clicked({ target }) {
    const i = heads.findIndex(({ node }) => node.contains(/** @type {Node} */ (target)));
    if (i >= 0) choose(i);
  }
  /** The head that a key leads to. @type {(key: string) => number | undefined} */
  function destination(key) {
    const at = order.indexOf(chosen);
    const line = heads[order[0]].node.offsetTop;
    const second = order.findIndex((i) => heads[i].node.offsetTop !== line);
    /** @type {Record<string, number>} */
    const places = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + second,
      ArrowUp: at - second,
      Home: 0,
      End: order.length - 1,
    };
    return order[places[key]];
  }
  /** @type {(event: KeyboardEvent) => void} */
  function keyed(event) {
    const next = destination(event.key);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    heads[next].node.focus();
  }
  node.addEventListener("click", clicked, { signal });
  node.addEventListener("keydown", keyed, { signal });

  /**
   * So many heads in a row, each with so many queries and keys.
   * @type {(names: Name[], columns: number, rows: number, keys: number) => void}
   */
  function build(names, columns, rows, keys) {
    size = { columns, rows, keys };
    sorted = null;
    node.style.setProperty("--heads", `${columns}`);
    heads = names.map((name) => smallButton(name, rows, keys));
  }
  /**
   * What is left is stretched over the whole: other sizes for all the canvases take 20 ms.
   * @type {(weights: Weights, rows: number, columns: number) => void}
   */
  function draw(weights, rows, columns) {
    node.style.setProperty("--down", `${size.rows / rows}`);
    node.style.setProperty("--across", `${size.keys / columns}`);
    node.classList.toggle("mhsa-many", Math.max(size.rows, size.keys) > FEW);
    const canvases = heads.map(({ canvas }) => canvas);
    paint(canvases, weights, rows, columns);
  }
  /** @type {(measuresOf: MeasuresOf, measure: string) => void} */
  function sort(measuresOf, measure) {
    const byMeasure = measure in MEASURES;
    order = ranked(heads.length, measuresOf, measure);
    if (!byMeasure && sorted === false) return; // in the model's own order nothing moves
    sorted = byMeasure;
    node.classList.toggle("mhsa-sorted", byMeasure);
    const nodes = order.map((i) => {
      const { node, caption, name } = heads[i];
      const words = byMeasure ? `${name.short} ${measureWords(measuresOf(i)[measure])}` : "";
      caption.textContent = words;
      return node;
    });
    node.replaceChildren(...(byMeasure ? nodes : numbered(nodes, size.columns)));
    mark(chosen, compared, silent);
  }
  /** @type {(now: number, beside: number | null, off?: number[]) => void} */
  function mark(now, beside, off = []) {
    [chosen, compared, silent] = [now, beside, off];
    heads.forEach(({ node, caption, name }, i) => {
      node.setAttribute("aria-pressed", `${i === chosen}`);
      node.setAttribute("tabindex", i === chosen ? "0" : "-1");
      node.classList.toggle("mhsa-compared", i === compared);
      node.classList.toggle("mhsa-off", off.includes(i));
      const told = `${i === compared ? ", compared" : ""}${off.includes(i) ? ", off" : ""}`;
      node.setAttribute("aria-label", `${caption.textContent} ${name.long}${told}`.trim());
    });
  }
  return { node, build, draw, sort, mark, order: () => order };
}
