// @ts-check
// The model in a worker: it is started once, and answers questions in their order.

/**
 * @typedef {(ask: string, ...about: unknown[]) => Promise<any>} Ask
 */
/** A model that runs. @typedef {{ ask: Ask, end: () => void }} Running */

const MOMENT = 1_000; // milliseconds

/** Models of figures that were taken away a moment ago. @type {Map<string, Running>} */
const left = new Map();

/**
 * While its figure is there the model runs on; then it waits a moment for the next one, because a
 * figure that goes back to its start is taken away and drawn again.
 * @type {(key: string, running: Running, signal: AbortSignal) => Ask}
 */
function attended(key, running, signal) {
  const leave = () => {
    left.set(key, running);
    setTimeout(() => {
      if (left.get(key) === running && left.delete(key)) running.end();
    }, MOMENT);
  };
  if (signal.aborted)
    leave(); // taken away while the model was still starting
  else signal.addEventListener("abort", leave, { once: true });
  return running.ask;
}

/**
 * The model that the figure before has left.
 * @type {(key: string, signal: AbortSignal) => Ask | null}
 */
export function adopted(key, signal) {
  const running = left.get(key);
  left.delete(key);
  return running ? attended(key, running, signal) : null;
}

/**
 * Start the code of a model, and hand over what it is made of; the buffers in `given` leave the
 * page. A page from a file may not load a worker, but it may make one of a text.
 * @param {string} key @param {string} code @param {unknown} first
 * @param {Transferable[]} given @param {AbortSignal} signal
 * @returns {Promise<Ask>}
 */
export async function asking(key, code, first, given, signal) {
  const text = new Blob([code], { type: "text/javascript" });
  const url = URL.createObjectURL(text);
  const worker = new Worker(url);
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
  try {
    await send(first, given);
  } catch (error) {
    worker.terminate();
    throw error;
  } finally {
    URL.revokeObjectURL(url);
  }
  /** @type {Ask} */
  const ask = (ask, ...about) => send({ ask, about });
  return attended(key, { ask, end: () => worker.terminate() }, signal);
}
