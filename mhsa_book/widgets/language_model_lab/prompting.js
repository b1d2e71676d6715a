// @ts-check
// What the model adds once it runs: any prompt is read, heads switch off, and it writes on.

import { button, choice } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { newest } from "../shared/newest.js";
import { binary, clamp, counted } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { watch, write, writeAll } from "../shared/traits.js";
import { switches } from "../own_sentence/switches.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Ask } from "../shared/worker_client.js" */
/** @import { Found } from "./engine/answers.js" */

const INSTEAD = ["zero", "mean"];
const SWITCHES =
  "Rows are layers, columns are heads; the number at the left switches its whole layer. Instead of "
  + "its output z a head that is off writes zeros, or the mean of its z over some lines of a novel.";

/** How large the cache is. @type {(found: Found) => string} */
const cacheWords = ({ cache, tokens }) =>
  `The KV cache holds keys and values of ${counted(tokens.length, "token")}, ${binary(cache)}: `
  + `${counted(cache / tokens.length, "byte")} for each.`;

/**
 * Switches and buttons for a model whose `text`, `off` and what follows from them stay in the page.
 * @param {Model} model @param {Ask} ask @param {AbortSignal} signal
 */
export function prompting(model, ask, signal) {
  const [layers, heads] = /** @type {number[]} */ (model.get("attention").shape);
  const board = switches(model, layers, heads, signal);
  const said = spoken();
  let writing = false;
  const one = button({ label: "Write one word", signal, press: () => writeOn(1) });
  const on = button({ label: "Write on", signal, press: toggle });
  const back = button({ label: "Back to the prompt", signal, press: () => look() });
  const instead = choice({
    label: "a head that is off writes",
    options: ["zeros", "its mean"],
    value: 0,
    signal,
    change: (i) => write(model, "instead", INSTEAD[i]),
  });

  /** What follows from what was found, the maps only where the text is complete.
   * @type {(found: Found, isNewest?: () => boolean) => Promise<void>} */
  async function show(found, isNewest = () => true) {
    const chosen = clamp(model.get("chosen"), 0, found.next.length - 1);
    const added = await ask("adds", found.next[chosen].id);
    if (!isNewest()) return;
    writeAll(model, { chosen, found, added });
    said.say(cacheWords(found));
  }
  /** @type {(isNewest?: () => boolean) => Promise<void>} */
  async function showMaps(isNewest = () => true) {
    const attention = await ask("look");
    if (!isNewest()) return;
    const last = attention.tokens.length - 1;
    const query = Math.min(model.get("query"), last);
    writeAll(model, { query, key: Math.min(model.get("key"), last), attention });
  }
  const look = newest(async (isNewest) => {
    writing = false;
    const [text, off] = [model.get("text"), model.get("off")];
    const found = /** @type {Found | null} */ (await ask("read", text, off, model.get("instead")));
    if (!isNewest()) return;
    if (found === null) {
      writeAll(model, { message: "", problem: "There is no word to read; type at least one." });
      return;
    }
    const cut = `The model reads ${found.tokens.length} tokens here; the last ${found.cut} are cut.`;
    writeAll(model, { problem: "", message: found.cut ? cut : "" });
    await show(found, isNewest);
    await showMaps(isNewest);
  }, signal);

  /** @type {(most: number) => Promise<void>} */
  async function writeOn(most) {
    if (writing) return;
    writing = true;
    on.textContent = "Stop";
    for (let words = 0; writing && words < most; words += 1) {
      const found = await ask("more");
      if (found === null) break;
      if (writing) await show(found);
    }
    on.textContent = "Write on";
    if (writing) await showMaps();
    writing = false;
  }
  function toggle() {
    if (!writing) writeOn(Infinity);
    else {
      writing = false;
      showMaps();
    }
  }
  async function chose() {
    const { id } = model.get("found").next[model.get("chosen")];
    write(model, "added", await ask("adds", id));
  }
  function switched() {
    board.draw();
    look();
  }
  watch(model, ["text", "instead"], look, signal);
  watch(model, ["off"], switched, signal);
  watch(model, ["chosen"], chose, signal);
  board.draw();
  const title = el("p", { class: "mhsa-title" }, "Switch heads off");
  const buttons = el("div", { class: "mhsa-controls" }, one, on, back);
  const chosen = el("div", { class: "mhsa-controls" }, board.allOn, instead.node);
  const hint = el("p", { class: "mhsa-quiet" }, SWITCHES);
  return el("div", {}, buttons, said.node, title, hint, board.grid, chosen);
}
