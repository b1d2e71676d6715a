// @ts-check
// The running example alive: a sentence whose last word can be flipped, three heads to switch off,
// and what the word that asks has learned from the words it looks at.

import { check } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { arcs, sample } from "./arcs.js";
import { attended } from "./attended.js";
import { learned } from "./learned.js";
import { sentenceLine } from "./line.js";
import { answer, question } from "./told.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Maps } from "./attended.js" */
/** @import { Seen } from "./told.js" */

const MAPS = ["W_Q", "W_K", "W_V", "W_O"];

/**
 * A switch for each head.
 * @param {Model} model @param {string[]} names @param {AbortSignal} signal
 */
function switchesOf(model, names, signal) {
  /** @type {(h: number, on: boolean) => void} */
  const turn = (h, on) => {
    const others = /** @type {number[]} */ (model.get("off")).filter((i) => i !== h);
    write(model, "off", on ? others : [...others, h].sort((a, b) => a - b));
  };
  return names.map((label, h) => {
    const one = check({ label, value: true, signal, change: (on) => turn(h, on) });
    one.box.after(sample(h));
    return one;
  });
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "sentence-lab");
  const sentences = /** @type {string[][]} */ (model.get("sentences"));
  const [jobs, columns] = [model.get("heads"), model.get("columns")];
  const maps = /** @type {Maps} */ (readAll(model, MAPS));
  const x = /** @type {Matrix[]} */ (model.get("x"));
  const all = x.map((rows) => attended(rows, maps, jobs.length));
  const last = sentences[0].length - 1;

  /** @type {(w: number) => void} */
  const ask = (w) => {
    if (model.get("word") !== w) write(model, "word", w);
  };
  /** @type {(s: number) => void} */
  const flip = (s) => writeAll(model, { sentence: s, word: last });
  const line = sentenceLine(sentences, { ask, flip }, signal);
  const lines = arcs(jobs, sentences[0].length);
  const switches = switchesOf(model, jobs, signal);
  const [asked, said, table] = [el("p", { class: "mhsa-asked" }), spoken(), learned(columns, all)];
  const about = { class: "mhsa-controls", role: "group", "aria-label": "Heads" };
  const controls = el(
    "div",
    about,
    switches.map(({ node }) => node),
  );
  const sides = el("div", { class: "mhsa-sides" }, controls, table.node);
  body.append(el("div", { class: "mhsa-told" }, lines.node, line.node, asked), said.node, sides);

  function draw() {
    const { sentence: s, word: w, off } = readAll(model, ["sentence", "word", "off"]);
    const seen = /** @type {Seen} */ ({ words: sentences[s], heads: all[s] });
    const { text, at } = answer(seen, columns, w, off);
    const rows = all[s].map(({ weights }) => weights[w]);
    line.show(s, w, at);
    lines.draw(rows, w, line.middles(s), off);
    switches.forEach((one, h) => one.show(!off.includes(h)));
    asked.textContent = question(sentences[s], w);
    table.draw(seen, w, off);
    said.say(text);
  }
  watch(model, ["sentence", "word", "off"], draw, signal);
  drawToFit(line.node, draw, signal);
  return end;
}

export default { render };
