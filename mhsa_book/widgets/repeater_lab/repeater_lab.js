// @ts-check
// A text to type, what the model expects after every token, every head's weights, and a switch for
// each head.

import { weightColour } from "../shared/colours.js";
import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { unpack } from "../shared/halves.js";
import { bytes } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { watch, write } from "../shared/traits.js";
import { textField } from "./field.js";
import { expected, summed } from "./guesses.js";
import { enlarged, smallMaps } from "./maps.js";
import { run } from "./model.js";
import { tokenStrip } from "./strip.js";
import { encoded, randomRepeats } from "./texts.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Shown } from "./guesses.js" */
/** @import { HeadAt, Ran } from "./model.js" */

/** How to read the tokens, and the colours from 0 to 1. */
function legend() {
  const stops = Array.from({ length: 9 }, (_, i) => weightColour(i / 8)).join(",");
  const bar = el("i", {
    class: "mhsa-weight",
    style: `background:linear-gradient(90deg,${stops})`,
  });
  return el(
    "p",
    { class: "mhsa-legend" },
    "Under each token: the model's first guess for the next one, ✓ if it came, and its "
      + "probability. Behind it: the weight it gets from the chosen token, ",
    el("span", {}, "0 ", bar, " 1."),
  );
}

/**
 * The model of the figure: what it makes of a text, with heads off and with all of them on.
 * @param {Model} model
 */
function running(model) {
  const habits = /** @type {string[][]} */ (model.get("habits"));
  const matrices = unpack(bytes(model.get("packed")), model.get("tensors"));
  const maxTokens = matrices.positions.length;
  /** @type {(ids: number[], off?: HeadAt[]) => Ran} */
  const pass = (ids, off) => run(matrices, ids, habits.length, habits[0].length, off);
  let last = /** @type {{ text: string, ids: number[], whole: Ran } | null} */ (null);
  /** @type {(text: string, off: HeadAt[]) => { ids: number[], whole: Ran, now: Ran }} */
  function read(text, off) {
    if (last === null || last.text !== text) {
      const { ids = [] } = encoded(text, model.get("alphabet"), maxTokens);
      last = { text, ids, whole: pass(ids) };
    }
    const { ids, whole } = last;
    return { ids, whole, now: off.length ? pass(ids, off) : whole };
  }
  return { habits, maxTokens, read };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "repeater-lab");
  const { habits, maxTokens, read } = running(model);
  const field = textField(model, maxTokens, reread, signal);
  const random = () => field.set(randomRepeats());
  const draws = button({ label: "Random letters, repeated", signal, press: random });
  const allOn = button({ label: "All heads on", signal, press: () => write(model, "off", []) });
  /** @type {(position: number) => void} */
  const choose = (position) => write(model, "position", position);
  const strip = tokenStrip(choose, signal);
  const maps = smallMaps(model, habits, signal);
  const next = el("div", { class: "mhsa-next" });
  const big = el("div", { class: "mhsa-big" });
  const said = spoken();
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, field.label, field.typed, draws, allOn),
    field.notice,
    strip.node,
    legend(),
    el("div", { class: "mhsa-parts" }, next, maps.node, big),
    said.node,
  );

  function draw() {
    const [off, large] = [model.get("off"), model.get("large")];
    const { ids, whole, now } = read(model.get("text"), off);
    const position = Math.min(model.get("position") ?? ids.length - 1, ids.length - 1);
    const [layer, head] = large;
    const weights = now.weights[layer][head];
    /** @type {Shown} */
    const shown = {
      alphabet: model.get("alphabet"),
      ids,
      now: now.probabilities,
      whole: whole.probabilities,
      position,
      head: large,
      looks: weights[position],
      off,
    };
    allOn.disabled = off.length === 0;
    strip.draw(shown);
    next.replaceChildren(...expected(shown));
    maps.draw(now.weights, off, large);
    big.replaceChildren(...enlarged(shown, weights, habits[layer][head], choose, signal));
    said.say(summed(shown));
  }

  function reread() {
    field.show();
    draw();
  }

  watch(model, ["text"], reread, signal);
  watch(model, ["off", "large", "position"], draw, signal);
  reread();
  return end;
}

export default { render };
