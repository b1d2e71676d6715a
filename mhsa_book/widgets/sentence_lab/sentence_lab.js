// @ts-check
// The running example alive, in six steps: a sentence whose last word can be flipped, what three
// heads make of every word, where they look, and what the word that asks has learned.

import { el } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, writeAll } from "../shared/traits.js";
import { arcs } from "./arcs.js";
import { attended } from "./attended.js";
import { concatRow } from "./concat_row.js";
import { lanes } from "./lanes.js";
import { outputBars } from "./output_bars.js";
import { sentenceLine } from "./line.js";
import { possibleMeanings } from "./possible_meanings.js";
import { switches } from "./switches.js";
import { answer, question } from "./question_and_answer.js";
import { filled, LOOKED, guidedSteps } from "./guided_steps.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Maps } from "./attended.js" */
/** @import { Seen } from "./question_and_answer.js" */

const MAPS = ["W_Q", "W_K", "W_V", "W_O"];
const ROWS =
  "Rows of a head, from above: q, k and v of every word (full: large, pale: small, hollow: "
  + "negative); score; weight. In its map a row is a word that looks, a column one looked at.";
const CHOSEN = ["sentence", "word", "off"];

/** The words that the last one might belong to. @type {(x: Matrix, names: string[]) => number[]} */
const nouns = (x, names) => x.flatMap((row, w) => (row[names.indexOf("noun")] === 1 ? [w] : []));

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "sentence-lab");
  const sentences = /** @type {string[][]} */ (model.get("sentences"));
  const [jobs, columns] = [model.get("heads"), model.get("columns")];
  const maps = /** @type {Maps} */ (readAll(model, MAPS));
  const x = /** @type {Matrix[]} */ (model.get("x"));
  const all = x.map((rows) => attended(rows, maps, jobs.length));
  const [n, d_head] = [sentences[0].length, maps.W_O.length / jobs.length];

  // Whoever presses a word or a switch wants to see what it does: where words have looked.
  const atLeastLooked = () => ({ step: Math.max(model.get("step"), LOOKED) });
  /** @type {(w: number) => void} */
  const ask = (w) => {
    if (model.get("word") !== w) writeAll(model, { word: w, ...atLeastLooked() });
  };
  /** @type {(s: number) => void} */
  const flip = (s) => writeAll(model, { sentence: s, word: n - 1 });
  const line = sentenceLine(sentences, { ask, flip }, signal);
  const [lines, open] = [arcs(jobs, n), possibleMeanings(nouns(x[0], columns))];
  lines.node.firstElementChild?.append(open.node);
  const [rows, z, table] = [lanes(jobs, all), concatRow(jobs, d_head), outputBars(columns, all)];
  const heads = switches(model, jobs, n, atLeastLooked, signal);
  const [asked, said] = [el("p", { class: "mhsa-asked" }), spoken()];
  const sum = el("div", { class: "mhsa-sum" }, z.node, table.node);
  const steps = guidedSteps({
    steps: model.get("steps"),
    places: [line.node, rows.nodes[2], lines.node, line.choice, sum, heads.nodes[0]],
    index: () => model.get("step"),
    go: (step) => writeAll(model, { step, word: n - 1 }),
    again: () => writeAll(model, { step: 0, sentence: 0, word: n - 1, off: [] }),
    signal,
  });
  const hint = el("p", { class: "mhsa-hint" }, ROWS);
  const parts = jobs.flatMap((/** @type {string} */ _, /** @type {number} */ h) => [
    heads.nodes[h],
    rows.nodes[h],
    heads.maps[h],
  ]);
  const about = { class: "mhsa-told", role: "group", "aria-label": "Heads" };
  const told = el("div", about, lines.node, line.node, asked, parts);
  body.append(...steps.nodes, told, hint, said.node, sum);

  function draw() {
    const { sentence: s, word: w, off } = readAll(model, CHOSEN);
    const seen = /** @type {Seen} */ ({ words: sentences[s], heads: all[s] });
    const middles = line.middles(s);
    lines.draw(
      seen.heads.map(({ weights }) => weights[w]),
      w,
      middles,
      off,
    );
    open.draw(w, middles);
    rows.draw(seen, w, middles, off);
    heads.draw(seen.heads, w, off);
    asked.textContent = question(sentences[s], w);
    z.draw(seen.heads, w, off);
    table.draw(seen, w, off);
    tell();
  }

  function tell() {
    const { step, sentence: s, word: w, off } = readAll(model, ["step", ...CHOSEN]);
    const { text, at } = answer({ words: sentences[s], heads: all[s] }, columns, w, off);
    line.show(s, w, step < LOOKED ? -1 : at);
    said.say(step < LOOKED ? "" : text);
    const [last, other] = [s, 1 - s].map((i) => sentences[i][n - 1]);
    steps.show(step, filled(model.get("steps")[step][1], last, other, jobs[0], sentences[s][w]));
    body.dataset.step = step;
  }
  watch(model, CHOSEN, draw, signal);
  watch(model, ["step"], tell, signal);
  drawToFit(line.node, draw, signal);
  return end;
}

export default { render };
