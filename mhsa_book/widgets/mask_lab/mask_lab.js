// @ts-check
// A mask to choose or to paint, and beside it the weights it leaves: who may look at whom.

import { choice } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { spoken } from "../shared/spoken.js";
import { softmax } from "../shared/tensor.js";
import { watch, write, writeAll } from "../shared/traits.js";
import { emptyAnswers } from "./empty_rows.js";
import { maskForms } from "./forms.js";
import { grid, showWeights } from "./grids.js";
import { paintable } from "./paintable.js";
import { COUNTS, KINDS, emptyRows, maskOf, paintedOver } from "./rules.js";
import { described, named } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Notice } from "../shared/notice.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Paint } from "./paintable.js" */

const YOUR_OWN = KINDS[KINDS.length - 1];

/**
 * The rule, its one number, and the head.
 * @param {Model} model @param {number} size @param {Paint} paint @param {Notice} place
 * @param {AbortSignal} signal
 */
function controlsOf(model, size, paint, place, signal) {
  /** @type {(name: string) => void} */
  const rule = (name) => (name === YOUR_OWN ? paint([], true) : write(model, "kind", name));
  const kind = choice({
    label: "mask",
    options: KINDS,
    value: 0,
    signal,
    change: (i) => rule(KINDS[i]),
  });
  /** @type {(label: string) => ReturnType<typeof dial>} */
  const count = (label) =>
    dial({
      label,
      unit: "token",
      max: size,
      stops: Array.from({ length: size }, (_, i) => i + 1),
      value: Math.min(model.get("n"), size),
      signal,
      wrong: place.wrong,
      change: (n) => write(model, "n", n),
    });
  const labels = ["length", "prefix", "window"];
  const counts = Object.fromEntries(labels.map((label) => [label, count(label)]));
  const head = choice({
    label: "head",
    options: /** @type {Matrix[]} */ (model.get("scores")).map((_, i) => `${i}`),
    value: 0,
    signal,
    change: (i) => write(model, "head", i),
  });
  const one = el(
    "div",
    { class: "mhsa-one-of" },
    Object.values(counts).map(({ node }) => node),
  );
  const nodes = [kind.node, head.node, one];
  return { kind, counts, head, nodes };
}

/**
 * A titled part with what explains it.
 * @type {(title: string, inside: Node, ...key: (Node | string)[]) => HTMLElement}
 */
const part = (title, inside, ...key) =>
  el(
    "div",
    {},
    el("p", { class: "mhsa-title" }, title),
    inside,
    el("p", { class: "mhsa-key" }, key),
  );

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "mask-lab");
  const tokens = /** @type {string[]} */ (model.get("tokens")).map(named);
  const size = tokens.length;
  const current = () => maskOf(model.get("kind"), model.get("n"), model.get("painted"), size);
  /** @type {Paint} */
  const paint = (cells, value) => {
    const painted = paintedOver(current(), cells, value);
    writeAll(model, { painted, kind: YOUR_OWN });
  };
  const said = spoken();
  const place = notice({ signal });
  const { kind, counts, head, nodes } = controlsOf(model, size, paint, place, signal);
  const mask = paintable(tokens, signal, current, paint);
  const weights = grid(tokens, "Weights of the chosen head", "mhsa-weights");
  const empty = el("div", { class: "mhsa-empty mhsa-shrinks" });
  const forms = maskForms(model, tokens, signal);
  const [may, mayNot] = ["mhsa-may", "mhsa-may-not"].map((look) => el("span", { class: look }));
  const remark = "Rows are queries, columns keys. Hatched is exactly 0.";
  const painting = part(
    "Mask: press or drag to paint",
    mask.node,
    may,
    " may look ",
    mayNot,
    " may not. A name switches its row or its column.",
  );
  const under = part("Weights under it", weights.node, remark);
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, nodes),
    place.node,
    el("div", { class: "mhsa-pair" }, painting, under),
    said.node,
    ...forms.nodes,
    empty,
  );

  /** @type {(name: string) => void} */
  function showControls(name) {
    place.say({});
    kind.show(KINDS.indexOf(name));
    head.show(model.get("head"));
    for (const [label, count] of Object.entries(counts)) {
      count.show(Math.min(model.get("n"), size));
      count.node.hidden = COUNTS[name] !== label;
    }
  }

  function draw() {
    const [name, now] = [model.get("kind"), current()];
    const scores = /** @type {Matrix} */ (model.get("scores")[model.get("head")]);
    showControls(name);
    mask.show(now);
    showWeights(weights, softmax(scores, now), now);
    empty.replaceChildren(...emptyAnswers(emptyRows(now), tokens, model));
    forms.show(model.get("form"), now, scores);
    said.say(described(name, now, tokens));
  }

  watch(model, ["kind", "n", "painted", "head", "form"], draw, signal);
  draw();
  return end;
}

export default { render };
