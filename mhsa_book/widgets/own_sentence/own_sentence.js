// @ts-check
// A real model in the page: any sentence, all its heads, and a switch for each. Until the reader
// has loaded it, the sentence that Python has seen stands there.

import { el } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { loadButton } from "../shared/load_button.js";
import { watch, writeAll } from "../shared/traits.js";
import { explorer } from "../head_explorer/explorer.js";
import { pageState } from "../shared/page_state.js";
import { adopted, asking } from "../shared/worker_client.js";
import { headOf } from "./engine/head.js";
import { live } from "./live.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Ask } from "../shared/worker_client.js" */

const STAYS =
  "Then type any sentence, switch heads off, compare two sentences. What you type stays in this "
  + "page: nothing of it is sent or kept.";

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "own-sentence");
  const own = pageState(model, { text: null, problem: "", message: "", off: [] });
  const inside = el("div", { class: "mhsa-head-explorer" });
  const failed = el("p", { class: "mhsa-alert", role: "alert" });
  const { key } = model.get("asset");
  const load = { asset: model.get("asset"), what: "the model", model, signal, ready };
  const running = adopted(key, signal);
  if (!running) body.append(loadButton(load));
  body.append(el("p", { class: "mhsa-quiet" }, STAYS), failed, inside);
  explorer(own, inside, inside, signal);

  /** @type {(what: string, error: unknown) => void} */
  function fail(what, error) {
    const why = error instanceof Error ? error.message : `${error}`;
    failed.textContent = `The model ${what} (${why}); what it has shown stays.`;
  }
  /** @type {(data: Uint8Array<ArrayBuffer>) => Promise<void>} */
  async function ready(data) {
    try {
      const { code } = headOf(data).head;
      const ask = await asking(key, code, data, [data.buffer], signal);
      if (!signal.aborted) enliven(ask);
    } catch (error) {
      fail("could not start here", error);
    }
  }
  /** @type {(ask: Ask) => void} */
  function enliven(ask) {
    /** After a failure nothing is answered any more. @type {Ask} */
    const answered = (...question) =>
      ask(...question).catch((error) => {
        fail("has stopped; load this page anew to start it again", error);
        return new Promise(() => {});
      });
    body.append(live(own, answered, signal));
    watch(model, ["sentence"], () => own.set("text", model.get("sentence")), signal);
    writeAll(own, { text: model.get("sentence") });
  }
  if (running) enliven(running);
  return end;
}

export default { render };
