// @ts-check
// A trained translator in the page: a sentence to choose, its translation word by word, every
// head with a switch, and the map of one. The model comes when the reader asks for it.

import { pause } from "../shared/assets.js";
import { choice } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { loadButton } from "../shared/load_button.js";
import { spoken } from "../shared/spoken.js";
import { watch, write, writeAll } from "../shared/traits.js";
import { sentenceInput } from "./sentence_input.js";
import { board } from "./board.js";
import { picture } from "./picture.js";
import { running } from "./running.js";
import { translationStrip } from "./strip.js";
import { describe } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Tables } from "./rules.js" */

const READ = ["sentence", "greeting", "off", "instead", "head", "word"];

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "translator-lab");
  const tables = /** @type {Tables} */ (model.get("tables"));
  const greetings = ["", ...Object.keys(tables.greetings)];
  const lab = running(model);
  const asked = sentenceInput(model, tables, signal);
  const begins = choice({
    label: "The translation begins with",
    options: ["what the model likes", ...greetings.slice(1)],
    value: 0,
    signal,
    change: (i) => writeAll(model, { greeting: greetings[i], word: null }),
  });
  /** @type {(word: number) => void} */
  const choose = (word) => write(model, "word", word);
  const rules = el("p", { class: "mhsa-rules" });
  const [strip, map, heads] = [
    translationStrip(choose, signal),
    picture(choose, signal),
    board(model, signal),
  ];
  const said = spoken();
  const load = loadButton({ asset: model.get("asset"), what: "the model", model, signal, ready });
  const parts = el("div", { class: "mhsa-parts" }, map.node);
  body.append(
    el("div", { class: "mhsa-controls" }, asked.controls),
    asked.notice,
    asked.menus,
    el("div", { class: "mhsa-controls" }, begins.node, load),
    rules,
    parts,
  );

  /** @type {(data: Uint8Array) => Promise<void>} */
  async function ready(data) {
    lab.start(data);
    await pause();
    if (signal.aborted) return;
    rules.replaceWith(strip.node, said.node);
    parts.append(heads.node);
    draw();
  }
  function draw() {
    const shown = lab.now();
    begins.show(greetings.indexOf(model.get("greeting")));
    map.draw(shown);
    if (!lab.loaded()) {
      const words = shown.right.slice(0, -1).map(({ text }) => text);
      rules.textContent = `By the rules: ${words.join(" ")}`;
      return;
    }
    strip.draw(shown);
    heads.draw(shown);
    said.say(describe(shown));
  }
  watch(model, ["sentence"], asked.show, signal);
  watch(model, READ, draw, signal);
  asked.show();
  draw();
  return end;
}

export default { render };
