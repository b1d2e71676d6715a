// @ts-check
// The chosen head large, alone or beside another one and their difference.

import { el } from "../shared/elements.js";
import { clamp, fixed } from "../shared/numbers.js";
import { quoted } from "../shared/tokens.js";
import { write } from "../shared/traits.js";
import { fitting } from "./head_filters.js";
import { optionOf } from "./controls.js";
import { MEASURES } from "./measures.js";
import { measureWords } from "./head_thumbnails.js";
import { headView } from "./head_map.js";
import { arrowKeys } from "./arrow_keys.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Heads, Seen } from "./shown_weights.js" */
/** @import { Name } from "./head_thumbnails.js" */
/** @typedef {ReturnType<typeof largeHeads>} LargeHeads */

/** What the colours mean; `sides` says it of a difference. */
function colourScale() {
  const sides = el("span");
  const [none, bar] = ["mhsa-none", "mhsa-bar"].map((look) => el("i", { class: look }));
  const node = el("p", { class: "mhsa-scale" }, "exactly 0", none, "above 0", bar, "1", sides);
  return { node, sides };
}

/**
 * Views of one head, of another one and of their difference; with numbers below.
 * @param {Model} model @param {Heads} heads @param {() => { seen: Seen, names: Name[] }} shown
 * @param {AbortSignal} signal
 */
export function largeHeads(model, heads, shown, signal) {
  /** @type {(place: { row?: number, column?: number }) => void} */
  const point = ({ row, column }) => {
    const { seen } = shown();
    if (row !== undefined) write(model, "query", seen.rows[row]);
    if (column !== undefined) write(model, "key", seen.columns[column]);
  };
  const views = [0, 1, 2].map(() => headView(signal, point));
  const [drawAs, direction] = [
    optionOf(model, "view", signal),
    optionOf(model, "direction", signal),
  ];
  const area = el(
    "div",
    { class: "mhsa-views" },
    views.map(({ node }) => node),
  );
  const scale = colourScale();
  const numbers = el("dl");
  const bar = el("div", { class: "mhsa-controls" }, drawAs.node, direction.node);
  const node = el("div", { class: "mhsa-large" }, bar, area, scale.node, numbers);

  arrowKeys(views[0].grid, signal, (down, across) => {
    /** @type {(places: number[], name: string, by: number) => void} */
    const move = (places, name, by) => {
      const to = clamp(places.indexOf(model.get(name)) + by, 0, places.length - 1);
      if (by) write(model, name, places[to]);
    };
    move(shown().seen.rows, "query", down);
    move(shown().seen.columns, "key", across);
  });

  /** @type {(i: number, j: number | null) => void} */
  function drawNumbers(i, j) {
    const { seen } = shown();
    const both = j === null ? [i] : [i, j];
    const found = fitting(model.get("attention")).map((name) => {
      const words = both.map((at) => measureWords(seen.measuresOf(at)[name])).join(" / ");
      return el("div", { title: MEASURES[name] }, el("dt", {}, name), el("dd", {}, words));
    });
    numbers.replaceChildren(...found);
  }

  function draw() {
    const { seen, names } = shown();
    const [i, j] = [heads.current(), heads.twin()];
    drawAs.show();
    views.forEach(({ node }, at) => {
      node.hidden = at > 0 && j === null;
    });
    const lines = model.get("view") === "lines";
    const { queries, keys } = seen;
    const like = { queries, keys, width: views[0].node.clientWidth };
    const [a, one] = [seen.weightsOf(i), names[i]];
    views[0].draw({ ...like, weights: a, lines, title: one.short, name: one.long });
    scale.sides.textContent = "";
    if (j !== null) {
      const [b, two] = [seen.weightsOf(j), names[j]];
      const title = `${one.short} − ${two.short}`;
      const name = `${one.long} minus ${two.long}`;
      const weights = a.map((weight, at) => weight - b[at]);
      views[1].draw({ ...like, weights: b, lines, title: two.short, name: two.long });
      views[2].draw({ ...like, weights, signed: true, title, name });
      const more = `blue is more in ${one.short}, orange more in ${two.short}`;
      scale.sides.textContent = `difference: ${more}`;
    }
    scale.node.hidden = lines && j === null;
    drawNumbers(i, j);
  }

  /**
   * Point at one weight in every view.
   * @type {(row: number, column: number, byKey: boolean) => void}
   */
  function mark(row, column, byKey) {
    direction.show();
    const { queries, keys } = shown().seen;
    const [query, key] = [queries[row].token, keys[column].token];
    for (const view of views.slice(0, heads.twin() === null ? 1 : 3)) {
      const weight = fixed(view.at(row, column), 4);
      view.mark(row, column, byKey, `${weight} from ${quoted(query)} to ${quoted(key)}`);
    }
  }
  return { node, area, draw, mark, views };
}
