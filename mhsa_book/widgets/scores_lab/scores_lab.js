// @ts-check
// One row of scores, and what seven rules for the weights of a head make of it.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { fixed, total } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { dialsOf, keyControls } from "./rule_controls.js";
import { scoreRow } from "./row.js";
import { HIGHEST, RULES, handedOver, moved, weightsByRule } from "./rules.js";
import { stripsOf } from "./strips.js";
import { inWords } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Row, Rule } from "./rules.js" */
/** @import { Told } from "./strips.js" */

const TRAITS = ["scores", "values", "removed", "key", "factor", "part", "sink", "gate"];

/** Before a key came or went. @typedef {{ removed: number[], weights: Weights }} Was */
/** @typedef {Record<Rule, number[]>} Weights */

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "scores-lab");
  const [place, said] = [notice({ signal }), spoken()];
  const tokens = /** @type {string[]} */ (model.get("tokens"));
  const start = readAll(model, TRAITS);
  const now = () => /** @type {Row} */ (readAll(model, TRAITS));
  let was = /** @type {Was | null} */ (null);

  /** @type {(key: number, score: number) => void} */
  const move = (key, score) => write(model, "scores", now().scores.with(key, score));
  const choose = (/** @type {number} */ key) => {
    if (key !== model.get("key")) write(model, "key", key);
  };
  /** @type {(there: boolean) => void} */
  function turn(there) {
    const [{ removed }, key] = [now(), model.get("key")];
    const before = { removed, weights: weightsByRule(now()) };
    const rest = removed.filter((k) => k !== key);
    write(model, "removed", there ? rest : [...rest, key].sort((a, b) => a - b));
    was = before;
    draw();
  }
  /** All scores at once. @type {(score: (key: number) => number) => void} */
  const setAll = (score) =>
    write(
      model,
      "scores",
      tokens.map((_, k) => score(k)),
    );
  const presets = Object.entries({
    "One fits": () => setAll((k) => (k === model.get("key") ? 3 : 0)),
    "All equal": () => setAll(() => 0),
    "None fits": () => setAll(() => -HIGHEST),
    "Start again": () => writeAll(model, start),
  }).map(([label, press]) => button({ label, signal, press }));

  const dials = dialsOf(model, place, signal);
  const chosen = keyControls(model, place, signal, move, turn);
  const row = scoreRow(tokens, { signal, move, choose });
  const numbers = { minus: dials.part.node, sink: dials.sink.node, gate: dials.gate.node };
  const { node, lines } = stripsOf(RULES, tokens.length, numbers, row.node);
  said.node.classList.add("mhsa-hidden"); // what it says stands in the table
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, presets, dials.factor.node),
    el("div", { class: "mhsa-controls" }, chosen.nodes),
    place.node,
    node,
    said.node,
  );

  /** @type {(rule: Rule, weights: number[], row: Row) => Told} */
  function toldOf(rule, weights, row) {
    const [sum, key] = [total(weights), model.get("key")];
    const both = tokens.map((_, k) => !row.removed.includes(k) && !was?.removed.includes(k));
    const words = was && moved(was.weights[rule], weights, both) ? "moved" : "the same";
    return {
      on: weights[key],
      others: sum - weights[key],
      sum,
      handed: handedOver(rule, weights, row),
      moved: was ? words : "",
    };
  }
  function draw() {
    const [state, key] = [now(), model.get("key")];
    const weights = weightsByRule(state);
    const told = RULES.map((rule) => toldOf(rule, weights[rule], state));
    RULES.forEach((rule, i) => lines[i].draw(weights[rule], was?.weights[rule] ?? null, told[i]));
    row.draw(state.scores, state.removed, key);
    chosen.key.show(key);
    chosen.score.show(state.scores[key]);
    chosen.value.show(state.values[key]);
    chosen.there.show(!state.removed.includes(key));
    dials.factor.show(state.factor);
    dials.part.show(state.part);
    dials.sink.show(state.sink);
    dials.gate.show(state.gate);
    const largest = fixed(state.factor * Math.max(...state.scores), 1);
    const rule = `Each rule gets scores × factor, the largest is ${largest}; n = ${tokens.length}.`;
    place.say({ rule });
    said.say(inWords(RULES, told, tokens[key]));
  }
  /** Another change: what was before a key came or went no longer counts. */
  function changed() {
    was = null;
    draw();
  }
  watch(
    model,
    TRAITS.filter((name) => name !== "key"),
    changed,
    signal,
  );
  watch(model, ["key"], draw, signal);
  draw();
  return end;
}

export default { render };
