// @ts-check
// Every head of a model small, one of them large with its exact weights, two of them compared: the
// whole of HeadExplorer, and a part of figures that have more.

import { el } from "../shared/elements.js";
import { notice } from "../shared/notice.js";
import { watch, write } from "../shared/traits.js";
import { headButtons } from "./buttons.js";
import { DIRECTIONS, hiding, optionOf, textField } from "./controls.js";
import { everyHead, everyWeight } from "./weight_tables.js";
import { largeHeads } from "./selected_head.js";
import { orderWords } from "./measures.js";
import { headsIn, sift, unpacked } from "./shown_weights.js";
import { smallHeads } from "./head_thumbnails.js";
import { headWords } from "./weight_description.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Attention, Seen } from "./shown_weights.js" */
/** @import { Name } from "./head_thumbnails.js" */

/**
 * Fill `body`; `root` has the class "mhsa-head-explorer". Heads that are `off` are crossed out.
 * @param {Model} model @param {HTMLElement} root @param {HTMLElement} body
 * @param {AbortSignal} signal
 */
export function explorer(model, root, body, signal) {
  const attention = () => /** @type {Attention} */ (model.get("attention"));
  const heads = headsIn(model);
  let weights = /** @type {Float64Array} */ (new Float64Array());
  let names = /** @type {Name[]} */ ([]);
  let seen = /** @type {Seen} */ (/** @type {unknown} */ (null)); // until the first draw
  const shown = () => ({ seen, names });

  const place = notice({ signal });
  const text = textField(model, signal);
  const sort = optionOf(model, "sort", signal);
  const order = el("p", { class: "mhsa-quiet mhsa-order" });
  const hide = hiding(model, signal);
  const small = smallHeads(signal, (i) => {
    write(model, "layer", names[i].layer);
    write(model, "head", names[i].head);
  });
  const large = largeHeads(model, heads, shown, signal);
  const words = headWords(heads, shown);
  const buttons = headButtons(model, heads, large, shown, signal);
  const measures = everyHead(model, () => ({ seen, names, order: small.order() }), signal);
  const chosen = () => ({ seen, name: names[heads.current()], head: heads.current() });
  const numbers = everyWeight(chosen, signal);
  const description = el("div", { class: "mhsa-words" }, words.nodes, buttons.node);
  body.append(
    el("div", { class: "mhsa-controls" }, text.node, sort.node, hide.nodes),
    place.node,
    order,
    el("div", { class: "mhsa-both" }, small.node, large.node, description),
    measures.node,
    numbers.node,
  );

  // From what changes seldom to what changes always.
  const say = () => place.say({ change: model.get("message"), error: model.get("problem") });
  function drawText() {
    text.show();
    say();
  }

  function drawAttention() {
    ({ weights, names } = unpacked(attention()));
    const [, columns, rows, keys] = attention().shape;
    root.classList.toggle("mhsa-single", names.length === 1);
    small.build(names, columns, rows, keys);
    hide.build(attention());
    drawSeen();
  }

  function drawSeen() {
    const hidden = model.get("hidden");
    seen = sift(attention(), weights, hidden, model.get("renormalise"));
    const error = "Without these tokens nothing is left, so all are shown; show one of them again.";
    const all = () => write(model, "hidden", []);
    if (seen.nothing) place.say({ error, fixes: [["show all again", all]] });
    else say();
    hide.show(attention(), hidden);
    small.draw(seen.weights, seen.rows.length, seen.columns.length);
    drawOrder();
    drawHead();
  }

  function drawOrder() {
    sort.show();
    order.textContent = orderWords(model.get("sort"), seen.keys[0].token);
    small.sort(seen.measuresOf, model.get("sort"));
    measures.draw();
  }

  function drawHead() {
    small.mark(heads.current(), heads.compared(), model.get("off"));
    root.classList.toggle("mhsa-comparing", heads.twin() !== null);
    buttons.show();
    large.draw();
    numbers.draw();
    drawMark();
  }

  function drawMark() {
    const byKey = model.get("direction") === DIRECTIONS[1];
    const row = Math.max(0, seen.rows.indexOf(model.get("query")));
    const column = Math.max(0, seen.columns.indexOf(model.get("key")));
    large.mark(row, column, byKey);
    words.draw(row, column, byKey);
  }

  watch(model, ["text", "problem", "message"], drawText, signal);
  watch(model, ["attention"], drawAttention, signal);
  watch(model, ["hidden", "renormalise"], drawSeen, signal);
  watch(model, ["sort"], drawOrder, signal);
  watch(model, ["layer", "head", "compared", "view", "off"], drawHead, signal);
  watch(model, ["query", "key", "direction"], drawMark, signal);
  drawText();
  drawAttention();
  const resized = new ResizeObserver(() => {
    const [view] = large.views;
    if (view.node.clientWidth !== view.width()) drawHead();
  });
  resized.observe(large.area);
  signal.addEventListener("abort", () => resized.disconnect());
}
