// @ts-check
// What the model adds once it is there: every text is read anew, heads switch off, two sentences
// are compared.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { newest } from "../shared/newest.js";
import { clamp } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { watch, writeAll } from "../shared/traits.js";
import { arrows, turned } from "./arrows.js";
import { effects } from "./effects.js";
import { switches } from "./switches.js";
import { twoSentences } from "./sentence_pair.js";

const SWITCHES =
  "Rows are layers, columns are heads; the number at the left switches its whole layer. A head "
  + "that is off has z = 0. The sentence vector is the mean of all tokens' last vectors.";
const SLOW = 300; // milliseconds until a reader is told to wait

/** @import { Model } from "../shared/traits.js" */
/** @import { Ask } from "../shared/worker_client.js" */
/** @import { Read } from "./engine/reader.js" */

const CAPTION =
  "The cosine of the sentence vector with one head off and the one with all heads on. It is what "
  + "one head changes while all others stay, not its share: the changes do not add up.";

/**
 * Panels for a model whose `text`, `off` and `attention` stay in the page.
 * @param {Model} model @param {Ask} ask @param {AbortSignal} signal
 */
export function live(model, ask, signal) {
  const [layers, heads] = /** @type {number[]} */ (model.get("attention").shape);
  const n = layers * heads;
  const nameOf = (/** @type {number} */ i) => `L${Math.floor(i / heads)}H${i % heads}`;
  const board = switches(model, layers, heads, signal);
  const [turn, said] = [arrows(), spoken()];
  const turning = effects({
    label: "Which head turns it most?",
    caption: CAPTION,
    n,
    nameOf,
    whole: () => 1,
    async effectOf(head) {
      const text = model.get("text");
      const cosine = await ask("effect", [text], head);
      return text === model.get("text") ? cosine : null;
    },
    signal,
  });
  const texts = /** @type {[string, string]} */ (model.get("pair"));
  const two = twoSentences({ ask, texts, n, nameOf, signal });

  /** @type {(found: Read, off: number[]) => void} */
  function show({ tokens, cut: over, weights, cosine }, off) {
    if (tokens.length <= 2) {
      writeAll(model, { message: "", problem: "There is no word to read; type at least one." });
      return;
    }
    const last = tokens.length - 1;
    const most = `The model reads ${tokens.length} tokens; the last ${over} of this text are cut.`;
    const shape = [layers, heads, tokens.length, tokens.length];
    writeAll(model, {
      query: clamp(model.get("query"), 0, last),
      key: clamp(model.get("key"), 0, last),
      problem: "",
      message: over > 0 ? most : "",
      attention: { shape, tokens, keys: tokens, weights: new DataView(weights.buffer) },
    });
    turn.draw(cosine);
    said.say(turned(cosine, off.length));
  }
  /** @type {(isNewest: () => boolean) => Promise<void>} */
  async function answer(isNewest) {
    const [text, off] = [model.get("text"), model.get("off")];
    const wait = setTimeout(() => writeAll(model, { message: "The model reads …" }), SLOW);
    const found = await ask("read", text, off);
    clearTimeout(wait);
    if (isNewest()) show(found, off);
  }
  const look = newest(answer, signal);
  function another() {
    turning.clear();
    look();
  }
  function switched() {
    board.draw();
    look();
  }
  watch(model, ["text"], another, signal);
  watch(model, ["off"], switched, signal);
  board.draw();
  two.compare();
  const vector = el("div", { class: "mhsa-vector" }, turn.node, said.node);
  const title = el("p", { class: "mhsa-title" }, "Switch heads off");
  const press = () => writeAll(model, { text: model.get("sentence"), off: [] });
  const again = button({ label: "First sentence again", signal, press });
  const buttons = el("div", { class: "mhsa-controls" }, board.allOn, again);
  const off = el("div", {}, title, el("p", { class: "mhsa-quiet" }, SWITCHES), board.grid, buttons);
  const parts = el("div", { class: "mhsa-live" }, off, vector, turning.node);
  return el("div", {}, parts, two.node);
}
