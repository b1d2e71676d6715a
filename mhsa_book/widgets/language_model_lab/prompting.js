// @ts-check
// What the model adds once it runs: any prompt is read, heads switch off, and it writes on.

import { button, choice } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { newest } from "../shared/newest.js";
import { notice } from "../shared/notice.js";
import { binary, counted } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { watch, write, writeAll } from "../shared/traits.js";
import { switches } from "../own_sentence/switches.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Ask } from "../shared/worker_client.js" */
/** @import { Found } from "./engine/answers.js" */

const INSTEAD = ["zero", "mean"];
const SWITCHES =
  "Rows are layers, columns are heads; the number at the left switches its whole layer. Instead of "
  + "its output z a head that is off writes zeros, or the mean of its z over lines of a novel.";

/** How large the cache is. @type {(found: Found) => string} */
const cacheWords = ({ cache, tokens }) =>
  `The KV cache holds keys and values of ${counted(tokens.length, "token")}, ${binary(cache)}: `
  + `${counted(cache / tokens.length, "byte")} for each.`;

/**
 * The field for a prompt, with `change` when it is confirmed.
 * @type {(value: string, change: (text: string) => void, signal: AbortSignal) => HTMLElement}
 */
function promptField(value, change, signal) {
  const hints = { autocomplete: "off", enterkeyhint: "go", maxlength: 5000 };
  const typed = el("input", { type: "text", id: uid(), ...hints });
  typed.value = value;
  typed.addEventListener("change", () => change(typed.value), { signal });
  return el("div", { class: "mhsa-text" }, el("label", { for: typed.id }, "prompt"), typed);
}

/**
 * A field, buttons and switches for a model whose `prompt`, `off` and what follows from them stay
 * in the page; `start` reads the prompt.
 * @param {Model} model @param {Ask} ask @param {AbortSignal} signal
 */
export function prompting(model, ask, signal) {
  const [layers, heads] = /** @type {number[]} */ (model.get("attention").shape);
  const { grid, allOn, draw } = switches(model, layers, heads, signal);
  const [place, said] = [notice({ signal }), spoken()];
  let [turn, writing] = [0, false]; // a reading begins another turn, and ends what is written
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

  /** @type {(found: Found) => void} */
  function show(found) {
    write(model, "found", found);
    said.hush(writing); // every word would be spoken
    said.say(cacheWords(found), 0);
  }
  /** Maps, and what heads add, once the text is complete. @type {(mine: number) =>
   *   Promise<void>} */
  async function showHeads(mine) {
    const [added, attention] = [await ask("adds"), await ask("look")];
    if (turn !== mine) return;
    const last = attention.tokens.length - 1;
    const [query, key] = [model.get("query"), model.get("key")].map((at) => Math.min(at, last));
    writeAll(model, { added, query, key, attention });
  }
  const look = newest(async () => {
    const mine = (turn += 1);
    const asked = ["prompt", "off", "instead"].map((name) => model.get(name));
    const found = /** @type {Found | null} */ (await ask("read", ...asked));
    if (turn !== mine) return;
    if (found === null) {
      place.say({ error: "There is no word to read; type at least one." });
      return;
    }
    const cut = `The model reads ${found.tokens.length} tokens; the last ${found.cut} are cut.`;
    place.say({ change: found.cut ? cut : "" });
    show(found);
    await showHeads(mine);
  }, signal);

  /** @type {(most: number) => Promise<void>} */
  async function writeOn(most) {
    const mine = turn;
    writing = true;
    [on.textContent, one.disabled] = ["Stop", true];
    for (let words = 0; writing && words < most; words += 1) {
      const found = await ask("more");
      if (turn !== mine) break;
      if (found === null) {
        place.say({ change: "Here the text ends, or there is no room for another word." });
        break;
      }
      show(found);
    }
    writing = false;
    [on.textContent, one.disabled] = ["Write on", false];
    await showHeads(mine);
  }
  function toggle() {
    if (writing) writing = false;
    else writeOn(Infinity);
  }
  function switched() {
    draw();
    look();
  }
  watch(model, ["prompt", "instead"], look, signal);
  watch(model, ["off"], switched, signal);
  draw();
  const field = promptField(model.get("prompt"), (text) => write(model, "prompt", text), signal);
  const buttons = el("div", { class: "mhsa-controls" }, one, on, back);
  const chosen = el("div", { class: "mhsa-controls" }, allOn, instead.node);
  const title = el("p", { class: "mhsa-title" }, "Switch heads off");
  const hint = el("p", { class: "mhsa-quiet" }, SWITCHES);
  const typed = el("div", {}, field, place.node, buttons, said.node);
  return { typed, board: el("div", {}, title, hint, grid, chosen), start: look };
}
