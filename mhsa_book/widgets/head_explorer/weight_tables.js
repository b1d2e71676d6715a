// @ts-check
// Tables that unfold: the measures of every head, and every weight of one.

import { button } from "../shared/controls.js";
import { el, scroller } from "../shared/elements.js";
import { numberCell, rowName } from "../shared/tables.js";
import { write } from "../shared/traits.js";
import { fitting } from "./head_filters.js";
import { measureWords } from "./head_thumbnails.js";
import { exact, weightTable } from "./words.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Seen } from "./shown_weights.js" */
/** @import { Name } from "./head_thumbnails.js" */

/**
 * A part that is drawn only where it is open, once the reader pauses: it has thousands of cells.
 * @param {string} title @param {(inside: HTMLElement) => void} update @param {AbortSignal} signal
 */
function fold(title, update, signal) {
  const inside = scroller(title);
  const node = el("details", {}, el("summary", {}, title), inside);
  let timer = 0;
  const now = () => {
    if (node.open && !signal.aborted) update(inside);
  };
  const draw = () => {
    clearTimeout(timer);
    timer = setTimeout(now, 200);
  };
  node.addEventListener("toggle", now, { signal });
  return { node, draw };
}

/**
 * All measures, a row for each head in the order in sight; a title sorts by its measure.
 * @param {Model} model
 * @param {() => { seen: Seen, names: Name[], order: number[] }} shown
 * @param {AbortSignal} signal
 */
export function everyHead(model, shown, signal) {
  /** @type {(name: string) => HTMLElement} */
  const press = (name) => {
    const sorted = model.get("sort") === name ? "descending" : null;
    const sort = () => write(model, "sort", name);
    const inside = button({ label: name, signal, press: sort });
    return el("th", { scope: "col", "aria-sort": sorted }, inside);
  };
  /** @type {(inside: HTMLElement) => void} */
  function update(inside) {
    const { seen, names, order } = shown();
    const measures = fitting(model.get("attention"));
    const rows = order.map((i) => {
      const found = seen.measuresOf(i);
      const cells = measures.map((name) => numberCell(measureWords(found[name])));
      return el("tr", {}, rowName(names[i].short), cells);
    });
    const head = el("tr", {}, el("td"), measures.map(press));
    inside.replaceChildren(el("table", {}, head, rows));
  }
  return fold("Measures of every head", update, signal);
}

/**
 * Every weight of the chosen head.
 * @param {() => { seen: Seen, name: Name, head: number }} shown
 * @param {AbortSignal} signal
 */
export function everyWeight(shown, signal) {
  let built = /** @type {{ seen: Seen, table: ReturnType<typeof weightTable> } | null} */ (null);
  /** @type {(inside: HTMLElement) => void} */
  function update(inside) {
    const { seen, name, head } = shown();
    if (built?.seen !== seen) built = { seen, table: weightTable(seen.queries, seen.keys) };
    const { table } = built;
    const weights = seen.weightsOf(head);
    table.cells.forEach((cell, i) => {
      cell.data = exact(weights[i]);
    });
    table.caption.textContent = `${name.long}: queries down, keys across`;
    if (inside.firstChild !== table.node) inside.replaceChildren(table.node);
  }
  return fold("Weights of this head as a table", update, signal);
}
