// @ts-check
// One pair of tokens and the map that mixes its heads, made of parts to weaken and change.

import { button } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { PARTS, composedOf, mapOf, pairOf, partsOf } from "./composing.js";
import { gridsOf } from "./grids.js";
import { pairTable } from "./pair.js";
import { changedMaps, partTables, placed } from "./parts.js";
import { isPlain, pairInWords, pairWords, rowsInWords } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Notice } from "../shared/notice.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Maps, PartName, Strengths } from "./composing.js" */

const STOPS = [0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.25, 0.5, 0.75, 1];
/** @type {Record<PartName, string>} */
const TITLES = {
  static: "static part",
  by_query: "query’s low rank",
  by_key: "key’s low rank",
  gates: "gates",
};

/** @type {(model: Model) => Strengths} */
const strengthsOf = (model) => /** @type {Strengths} */ (readAll(model, PARTS));

/** All parts as strong as each other. @type {(strength: number) => Strengths} */
const equally = (strength) =>
  /** @type {Strengths} */ (Object.fromEntries(PARTS.map((name) => [name, strength])));

/**
 * A strength for each part, and one that moves all.
 * @param {Model} model @param {Notice} place @param {AbortSignal} signal
 */
function dialsOf(model, { wrong }, signal) {
  const about = { min: 0, max: 1, stops: STOPS, whole: false, value: 1, signal, wrong };
  const change = (/** @type {number} */ strength) => writeAll(model, equally(strength));
  const all = dial({ ...about, label: "all parts", change });
  const each = PARTS.map((name) =>
    dial({ ...about, label: TITLES[name], change: (value) => write(model, name, value) }),
  );
  return { all, each };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "compose-lab");
  const [place, said] = [notice({ signal }), spoken()];
  const weights = /** @type {Matrix[]} */ (model.get("weights"));
  const tokens = /** @type {string[]} */ (model.get("tokens"));
  const start = /** @type {Maps} */ (model.get("maps"));
  const { all, each } = dialsOf(model, place, signal);
  const plain = () => writeAll(model, equally(0));
  const again = () => writeAll(model, { ...equally(1), maps: start });
  const maps = () => /** @type {Maps} */ (model.get("maps"));
  const grids = gridsOf(
    weights.length,
    tokens,
    (query, key) => writeAll(model, { query, key }),
    signal,
  );
  const pair = pairTable(weights.length);
  const tables = partTables(weights.length, [start.query_w1[0].length, start.key_w1[0].length], {
    signal,
    wrong: place.wrong,
    set: (path, value) => {
      const at = placed(path, model.get("query"), model.get("key"));
      write(model, "maps", changedMaps(maps(), at, value));
    },
  });
  const rows = el("p", { class: "mhsa-rows", "aria-hidden": "true" });
  said.node.classList.add("mhsa-hidden"); // what it says stands in the figure
  const parts = tables.nodes.map((node, i) =>
    el("div", { class: "mhsa-part" }, each[i].node, node),
  );
  body.append(
    el(
      "div",
      { class: "mhsa-controls mhsa-at-hand" },
      all.node,
      button({ label: "Plain attention", signal, press: plain }),
      button({ label: "Start again", signal, press: again }),
    ),
    place.node,
    grids.node,
    rows,
    el("div", { class: "mhsa-parts" }, pair.node, parts),
    said.node,
  );

  function draw() {
    const strengths = strengthsOf(model);
    const [query, key] = [model.get("query"), model.get("key")];
    const composed = composedOf(weights, maps(), strengths);
    const [a, after] = [pairOf(weights, query, key), pairOf(composed, query, key)];
    const words = pairWords(tokens[query], tokens[key]);
    all.show(Math.max(...Object.values(strengths)));
    each.forEach((one, i) => one.show(strengths[PARTS[i]]));
    const rule = isPlain(strengths)
      ? "Every part is at 0: each head keeps its own weights. This is plain attention."
      : "The map of a pair: 1 on the diagonal (each head keeps its own), and what the parts add.";
    place.say({ rule });
    grids.draw(composed, query, key);
    pair.draw(words, a, mapOf(maps(), strengths, query, key), after);
    tables.draw(maps(), partsOf(maps(), query, key), query, key);
    rows.textContent = rowsInWords(weights, composed);
    said.say(`${pairInWords(words, a, after)} ${rows.textContent}`);
  }
  watch(model, ["maps", "query", "key", ...PARTS], draw, signal);
  draw();
  return end;
}

export default { render };
