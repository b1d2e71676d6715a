// @ts-check
// The model in a worker, so that the page stays smooth: hears its bytes, then questions.

import { modelOf } from "./model.js";
import { reader } from "./reader.js";

/** @typedef {{ id: number, ask: "read" | "pair" | "effect", about: any[] }} Question */

/** @type {ReturnType<typeof reader> | null} */
let answers = null;

/** @param {MessageEvent<Uint8Array | Question>} event */
function hear({ data }) {
  if (data instanceof Uint8Array) {
    answers = reader(modelOf(data));
    return { id: 0, answer: null };
  }
  const { id, ask, about } = data;
  const ask_ = /** @type {(...about: any[]) => unknown} */ (answers?.[ask]);
  return { id, answer: ask_(...about) };
}

self.addEventListener("message", (event) => {
  try {
    self.postMessage(hear(event));
  } catch (error) {
    const { id = 0 } = event.data;
    self.postMessage({ id, error: error instanceof Error ? error.message : `${error}` });
  }
});
