// @ts-check
// The grid of the mask: pairs, rows, columns or all of it switch with mouse, finger or keys.

import { el } from "../shared/elements.js";
import { rove } from "../shared/roving_tabindex.js";

/** @import { Mask, Pair } from "./rules.js" */
/**
 * A button and the pairs that it switches.
 * @typedef {{ node: HTMLButtonElement, cells: Pair[] }} Press
 */
/** @typedef {(cells: Pair[], value: boolean) => void} Paint */
/** What a press makes of its pairs. @typedef {(one: Press) => boolean} Opposite */

/** @type {(label: string, cells: Pair[], text?: string) => Press} */
const press = (label, cells, text = "") => ({
  cells,
  node: el("button", { type: "button", "aria-label": label }, text),
});

/** Every button of the grid. @param {string[]} tokens */
function presses(tokens) {
  const all = tokens.map((_, i) => i);
  /** @type {(queries: number[], keys: number[]) => Pair[]} */
  const pairsOf = (queries, keys) =>
    queries.flatMap((query) => keys.map((key) => /** @type {Pair} */ ([query, key])));
  return {
    corner: press("all pairs", pairsOf(all, all), "all"),
    columns: tokens.map((token, key) =>
      press(`key ${token}, whole column`, pairsOf(all, [key]), token),
    ),
    rows: tokens.map((token, query) =>
      press(`query ${token}, whole row`, pairsOf([query], all), token),
    ),
    pairs: all.map((query) =>
      all.map((key) => press(`${tokens[query]} looks at ${tokens[key]}`, [[query, key]])),
    ),
  };
}

/**
 * A press switches, and what the pointer then passes gets the same value.
 * @type {(buttons: Press[], opposite: Opposite, paint: Paint, signal: AbortSignal) => void}
 */
function strokes(buttons, opposite, paint, signal) {
  let stroke = /** @type {boolean | null} */ (null);
  let handled = /** @type {Press | null} */ (null);
  /** @type {(event: PointerEvent, one: Press) => void} */
  function begin(event, one) {
    handled = event.button === 0 ? one : null;
    if (handled === null) return;
    // A finger enters the cells that it passes.
    /** @type {Element} */ (event.target).releasePointerCapture(event.pointerId);
    stroke = opposite(one);
    paint(one.cells, stroke);
  }
  for (const one of buttons) {
    const { node, cells } = one;
    const pass = () => {
      if (stroke !== null) paint(cells, stroke);
    };
    const click = (/** @type {MouseEvent} */ event) => {
      if (event.detail === 0 || handled !== one) paint(cells, opposite(one));
    };
    node.addEventListener("pointerdown", (event) => begin(event, one), { signal });
    node.addEventListener("pointerenter", pass, { signal });
    node.addEventListener("click", click, { signal });
    node.addEventListener("dragstart", (event) => event.preventDefault(), { signal });
  }
  const lift = () => {
    stroke = null;
  };
  addEventListener("pointerup", lift, { signal });
  addEventListener("pointercancel", lift, { signal });
}

/**
 * @param {string[]} tokens
 * @param {AbortSignal} signal
 * @param {() => Mask} current
 * @param {Paint} paint
 */
export function paintable(tokens, signal, current, paint) {
  const { corner, columns, rows, pairs } = presses(tokens);
  const buttons = [corner, ...columns, ...rows.flatMap((row, query) => [row, ...pairs[query]])];
  /** One press empties a row or a column; all of it, a press fills first. @type {Opposite} */
  const opposite = (one) => {
    const on = one.cells.map(([query, key]) => current()[query][key]);
    return one === corner ? !on.every(Boolean) : !on.some(Boolean);
  };
  strokes(buttons, opposite, paint, signal);
  const nodes = buttons.map(({ node }) => node);
  rove(nodes, tokens.length + 1, signal);

  /** @type {(first: Press, rest: Press[]) => HTMLElement} */
  const line = (first, rest) => {
    const cells = rest.map(({ node }) => el("td", {}, node));
    return el("tr", {}, el("th", {}, first.node), cells);
  };
  const lines = [line(corner, columns), ...rows.map((row, query) => line(row, pairs[query]))];
  const about = { class: "mhsa-grid mhsa-paint", "aria-label": "Mask" };
  const node = el("table", about, el("tbody", {}, lines));
  /** @type {(mask: Mask) => void} */
  const show = (mask) =>
    mask.forEach((row, query) =>
      row.forEach((may, key) => pairs[query][key].node.setAttribute("aria-pressed", `${may}`)),
    );
  return { node, show };
}
