// @ts-check
// The model in a worker: it is started once, and answers questions in their order.

import { headOf } from "./engine/head.js";

/**
 * @typedef {(ask: "read" | "pair" | "effect", ...about: unknown[]) => Promise<any>} Ask
 */

/**
 * Start the code that came with the model, and hand the model over to it. A page from a file may
 * not load a worker, but it may make one of a text.
 * @type {(data: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<Ask>}
 */
export async function asking(data, signal) {
  const text = new Blob([headOf(data).head.code], { type: "text/javascript" });
  const url = URL.createObjectURL(text);
  const worker = new Worker(url);
  signal.addEventListener("abort", () => worker.terminate());
  /** @type {{ resolve: (answer: any) => void, reject: (error: Error) => void }[]} */
  const waiting = [];
  worker.addEventListener("message", ({ data: { answer, error } }) => {
    const first = waiting.shift();
    if (error === undefined) first?.resolve(answer);
    else first?.reject(new Error(error));
  });
  worker.addEventListener("error", ({ message }) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(message || "no worker may run"));
  });
  /** @type {(question: unknown, given?: Transferable[]) => Promise<any>} */
  const send = (question, given = []) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage(question, given);
    });
  await send(data, [data.buffer]);
  URL.revokeObjectURL(url);
  return (ask, ...about) => send({ ask, about });
}
