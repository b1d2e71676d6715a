// @ts-check
// A language model that can be taken apart: what comes next, all its heads, a switch for each.
// Until the reader has loaded it, the results of one prompt that Python has computed are shown.

import { explorer } from "../head_explorer/explorer.js";
import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { pageState } from "../shared/page_state.js";
import { adopted } from "../shared/worker_client.js";
import { nextWords } from "./next_words.js";
import { addedParts } from "./added_parts.js";
import { prompting } from "./prompting.js";
import { offered } from "./start.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Ask } from "../shared/worker_client.js" */

const WHOSE =
  "SmolLM2-135M-Instruct (Hugging Face, Apache 2.0), a copy with 4 bits a weight: 30 layers of 9 "
  + "heads, every 3 of which share a KV head. What you type stays in this page, or your kernel.";
const MORE =
  "Load the model to type a prompt of your own, to let it write on, and to switch heads off.";
const GROUPS = "Heads 0–2, 3–5 and 6–8 of a layer share one KV head each.";

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "language-model-lab");
  const [found, added] = [model.get("found"), model.get("added")];
  const own = pageState(model, { off: [], instead: "zero", found, added, chosen: 0 });
  const failed = el("p", { class: "mhsa-alert", role: "alert" });
  const [above, below] = [el("div"), el("div", { class: "mhsa-head-explorer" })];
  const left = el("p", { class: "mhsa-quiet" }, MORE);
  const words = nextWords(own, signal);
  const parts = addedParts(own, signal);
  const groups = el("p", { class: "mhsa-quiet" }, GROUPS);
  const both = el("div", { class: "mhsa-beside" }, el("div", {}, words, left), parts);

  /** @type {(what: string, error: unknown) => void} */
  function fail(what, error) {
    const why = error instanceof Error ? error.message : `${error}`;
    failed.textContent = `The model ${what} (${why}); what it has shown stays.`;
  }
  /** @type {(ask: Ask) => void} */
  function enliven(ask) {
    /** After a failure nothing is answered any more. @type {Ask} */
    const answered = (...question) =>
      ask(...question).catch((error) => {
        fail("has stopped; load this page anew to start it again", error);
        return new Promise(() => {});
      });
    const { typed, board, start } = prompting(own, answered, signal);
    above.append(typed);
    left.replaceWith(board);
    start();
  }
  const running = adopted(model.get("asset").key, signal);
  if (!running) body.append(offered(model, signal, enliven, fail));
  body.append(el("p", { class: "mhsa-quiet" }, WHOSE), failed, above, both, groups, below);
  explorer(own, below, below, signal);
  if (running) enliven(running);
  return end;
}

export default { render };
