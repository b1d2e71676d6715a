// @ts-check
// How the model begins to run: in Python where a kernel is, elsewhere in a worker of this page.

import { loadAsset } from "../shared/assets.js";
import { button } from "../shared/controls.js";
import { loadButton } from "../shared/load_button.js";
import { bytes } from "../shared/numbers.js";
import { asking } from "../shared/worker_client.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Ask } from "../shared/worker_client.js" */

/**
 * Questions to Python; answers come with the number of their question.
 * @type {(model: Model, signal: AbortSignal) => Ask}
 */
function askingPython(model, signal) {
  let count = 0;
  return (ask, ...about) =>
    new Promise((resolve, reject) => {
      const number = (count += 1);
      /** @type {(said: any, buffers: DataView[]) => void} */
      const hear = (said, [weights]) => {
        if (said.number !== number) return;
        model.off("msg:custom", hear);
        if (said.error !== undefined) reject(new Error(said.error));
        else resolve(weights ? { ...said.answer, weights } : said.answer);
      };
      model.on("msg:custom", hear);
      signal.addEventListener("abort", () => model.off("msg:custom", hear), { once: true });
      model.send?.({ number, ask, about });
    });
}

/**
 * The file is there: fetch the code that reads it, and hand it over.
 * @type {(model: Model, data: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<Ask>}
 */
async function askingWorker(model, data, signal) {
  const engine = await loadAsset(model.get("engine"), model, signal, () => {});
  const { code, means } = JSON.parse(new TextDecoder().decode(engine));
  const first = { file: data, means: new Float32Array(bytes(means).slice().buffer) };
  return asking(model.get("asset").key, code, first, [data.buffer], signal);
}

/**
 * A button that starts the model; `ready` hears how to ask it.
 * @type {(model: Model, signal: AbortSignal, ready: (ask: Ask) => void,
 *   fail: (what: string, error: unknown) => void) => HTMLElement}
 */
export function offered(model, signal, ready, fail) {
  if (model.send) {
    const start = () => {
      node.remove();
      ready(askingPython(model, signal));
    };
    const node = button({ label: "Start the model in Python", signal, press: start });
    return node;
  }
  /** @type {(data: Uint8Array<ArrayBuffer>) => Promise<void>} */
  const loaded = async (data) => {
    try {
      const ask = await askingWorker(model, data, signal);
      if (!signal.aborted) ready(ask);
    } catch (error) {
      fail("could not start here", error);
    }
  };
  return loadButton({ asset: model.get("asset"), what: "the model", model, signal, ready: loaded });
}
