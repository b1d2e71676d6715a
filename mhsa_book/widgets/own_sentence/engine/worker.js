// @ts-check
// The model in a worker, so that the page stays smooth: hears its bytes, then questions.

import { modelOf } from "./model.js";
import { reader } from "./reader.js";

/** @typedef {{ ask: "read" | "pair" | "effect", about: any[] }} Question */

/** @type {ReturnType<typeof reader> | null} */
let answers = null;

/** @param {Uint8Array | Question} said */
function hear(said) {
  if (said instanceof Uint8Array) {
    answers = reader(modelOf(said));
    return null;
  }
  const answer = /** @type {(...about: any[]) => unknown} */ (answers?.[said.ask]);
  return answer(...said.about);
}

self.addEventListener("message", ({ data }) => {
  try {
    self.postMessage({ answer: hear(data) });
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : `${error}` });
  }
});
