// @ts-check
// What each head adds to the logit of the chosen word: a map of layers and heads.

import { el } from "../shared/elements.js";
import { clamp, fixed, total, upTo } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { quoted } from "../shared/tokens.js";
import { watch, writeAll } from "../shared/traits.js";
import { arrowKeys } from "../head_explorer/arrow_keys.js";
import { headView } from "../head_explorer/head_map.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Added } from "./engine/answers.js" */

const AXES = { down: "layer", across: "head", heard: "layers down, heads across" };
const SCALE =
  "blue: for the word; orange: against it. Of the last token, with the scale of the last norm as "
  + "it is: these numbers, the feed-forwards and the embedding sum to the logit. A word can win "
  + "with a small logit where all others are smaller still.";

/** @type {(value: number) => string} */
const signed = (value) => (value > 0 ? `+${fixed(value)}` : fixed(value));

/**
 * `added` of the model holds what adds to each of the words, of which one is `chosen`.
 * @param {Model} model @param {AbortSignal} signal
 */
export function addedParts(model, signal) {
  const shape = /** @type {number[]} */ (model.get("attention").shape);
  const [layers, heads] = shape;
  const [sum, told] = [el("p"), spoken()];
  const view = headView(signal, point);
  /** @type {(n: number, letter: string) => { at: number, token: string }[]} */
  const named = (n, letter) => upTo(n).map((at) => ({ at, token: `${letter}${at}` }));
  const [queries, keys] = [named(layers, "L"), named(heads, "H")];
  let [row, column] = [/** @type {number} */ (model.get("layer")), model.get("head")];

  const added = () => /** @type {Added} */ (model.get("added")[model.get("chosen")]);
  const word = () => quoted(added().text);

  /** @type {(place: { row?: number, column?: number }) => void} */
  function point(place) {
    ({ row = row, column = column } = place);
    const value = signed(added().heads[row * heads + column]);
    const says = `L${row}H${column} adds ${value} to the logit of ${word()}`;
    view.mark(row, column, false, says);
    told.say(`${says}.`);
  }
  arrowKeys(view.grid, signal, (down, across) => {
    point({ row: clamp(row + down, 0, layers - 1), column: clamp(column + across, 0, heads - 1) });
  });
  const choose = () => writeAll(model, { layer: row, head: column });
  view.grid.addEventListener("click", choose, { signal });
  /** @type {(event: KeyboardEvent) => void} */
  const entered = ({ key }) => {
    if (key === "Enter") choose();
  };
  view.grid.addEventListener("keydown", entered, { signal });

  function draw() {
    const { heads: each, fed, embedded, logit } = added();
    const most = Math.max(...each.map(Math.abs));
    const title = `what each head adds to ${word()}, at most ${fixed(most)}`;
    const weights = each.map((value) => value / most);
    const about = { weights, queries, keys, title, name: title, sides: AXES };
    view.draw({ ...about, signed: true, width: Math.min(view.node.clientWidth, 330) });
    sum.textContent =
      `Logit of ${word()}: ${fixed(logit, 1)} = heads ${fixed(total(each), 1)} + feed-forwards `
      + `${fixed(total(fed), 1)} + embedding ${fixed(embedded, 1)}.`;
    point({ row, column });
  }
  watch(model, ["added", "chosen"], draw, signal);
  const resized = new ResizeObserver(() => {
    if (Math.min(view.node.clientWidth, 330) !== view.width()) draw();
  });
  resized.observe(view.node);
  signal.addEventListener("abort", () => resized.disconnect());
  const heading = el("p", { class: "mhsa-title" }, "Which heads add to it");
  const map = el("div", { class: "mhsa-head-explorer" }, view.node, told.node);
  return el("div", {}, heading, sum, map, el("p", { class: "mhsa-quiet" }, SCALE));
}
