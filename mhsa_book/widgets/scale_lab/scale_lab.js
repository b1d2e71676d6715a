// @ts-check
// The factor on the dot product against the width of a head: spread, saturation and gradient.

import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { spoken } from "../shared/spoken.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { watch } from "../shared/traits.js";
import { LOOKS, chart, drawAcross, drawSorted, drawSpread } from "./charts.js";
import { SCALES, controlsOf } from "./controls.js";
import { POWERS, TOKENS, randomVectors, products, widened } from "./random_vectors.js";
import { average, componentVariance, factor, measured, variance, weighed } from "./saturation.js";
import { derivation, digits, measuredLines, verdict } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Vectors } from "./random_vectors.js" */

const TRAITS = ["d_head", "scale", "temperature", "seed"];
/**
 * The same function, which remembers its last answer.
 * @template {unknown[]} A
 * @template R
 * @param {(...args: A) => R} compute
 * @returns {(...args: A) => R}
 */
function remembered(compute) {
  let last = /** @type {{ args: string, answer: R } | null} */ (null);
  return (...args) => {
    if (last === null || last.args !== `${args}`)
      last = { args: `${args}`, answer: compute(...args) };
    return last.answer;
  };
}

/** The three drawings. */
function pictures() {
  const entropy = el("span", { class: "mhsa-solid", style: `color:${LOOKS.entropy.stroke}` });
  const gradient = el("span", { class: "mhsa-dashed", style: `color:${LOOKS.gradient.stroke}` });
  const up = " gradient; up: share of the most that is possible";
  return {
    spread: chart("Scores of all pairs", "across: score; up: how many pairs; outline: variance 1"),
    sorted: chart(
      "One query’s weights, sorted",
      `across: keys; up: weight; dashed: all equal, 1/${TOKENS}`,
    ),
    across: chart("Mean shares, by d_head", entropy, " entropy ", gradient, up),
  };
}

/**
 * A titled table with words in its first column and numbers in the others.
 * @type {(title: string, head: string[]) => { node: HTMLElement, show: (lines: string[][]) =>
 *   void }}
 */
function numberTable(title, head) {
  const rows = el("tbody");
  const above = el("p", { class: "mhsa-title" }, title);
  const table = el(
    "table",
    { "aria-label": title },
    tableHead(head, (i) => i > 0),
    rows,
  );
  const node = el("div", { class: "mhsa-table" }, above, table);
  /** @type {(line: string[]) => HTMLElement} */
  const row = ([name, ...numbers]) => el("tr", {}, rowName(name), numbers.map(numberCell));
  return { node, show: (lines) => rows.replaceChildren(...lines.map(row)) };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "scale-lab");
  const place = notice({ signal });
  const said = spoken();
  const cast = remembered((/** @type {number} */ seed) => {
    const vectors = randomVectors(seed);
    return { vectors, powers: products(vectors, POWERS) };
  });
  const means = remembered(
    (/** @type {number} */ seed, /** @type {string} */ rule, /** @type {number} */ T) =>
      cast(seed).powers.map((rows, i) => average(weighed(rows, factor(rule, POWERS[i], T)))),
  );
  const { width, scale, warmth, again } = controlsOf(model, place, signal);
  const { spread, sorted, across } = pictures();
  const head = ["", "one query", `mean of ${TOKENS}`];
  const numbers = numberTable("What the softmax makes of the scores", head);
  const steps = numberTable("Where the variance comes from", ["", "derived", "measured"]);
  const pairs = `${TOKENS} × ${TOKENS} pairs of keys`;
  const note = `The gradient is the sum of |∂weight/∂score| over all ${pairs}.`;
  numbers.node.append(el("p", { class: "mhsa-key" }, note));
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, width.node, scale.node, again, warmth.node),
    place.node,
    el("div", { class: "mhsa-charts" }, spread.node, sorted.node, across.node),
    said.node,
    el("div", { class: "mhsa-tables" }, numbers.node, steps.node),
  );

  /**
   * Dot products of all pairs at a width.
   * @type {(seed: number, d_head: number) => { vectors: Vectors, dots: Float64Array[] }}
   */
  function pairsAt(seed, d_head) {
    const { vectors, powers } = cast(seed);
    const below = Math.floor(Math.log2(d_head));
    return { vectors, dots: widened(powers[below], vectors, POWERS[below], d_head) };
  }

  function draw() {
    const [d_head, rule, T, seed] = TRAITS.map((name) => model.get(name));
    const a = factor(rule, d_head, T);
    place.say({});
    width.show(d_head);
    scale.show(SCALES.indexOf(rule));
    warmth.show(T);
    warmth.node.hidden = rule !== "1/temperature";
    const { vectors, dots } = pairsAt(seed, d_head);
    const weights = weighed(dots, a);
    const mean = average(weights);
    const spreads = { component: componentVariance(vectors, d_head), dots: variance(dots) };
    const found = { ...spreads, scores: a * a * spreads.dots };

    drawSpread(
      spread,
      dots.map((row) => row.map((dot) => dot * a)),
      a * Math.sqrt(d_head),
    );
    drawSorted(sorted, weights[0]);
    drawAcross(across, d_head, means(seed, rule, T));
    numbers.show(measuredLines(measured(weights[0]), mean));
    const lines = derivation(d_head, a, found);
    steps.show(lines.map(([why, derived, seen]) => [why, digits(derived), digits(seen)]));
    said.say(
      `d_head ${d_head}, scale ${digits(a)}: the scores have variance ${digits(found.scores)}, `
        + `and the largest weight is ${mean.largest.toFixed(2)} on average. ${verdict(mean)}`,
    );
  }

  watch(model, TRAITS, draw, signal);
  draw();
  return end;
}

export default { render };
