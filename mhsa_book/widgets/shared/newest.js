// @ts-check
// Wishes that come faster than they are answered.

/**
 * Asks for an answer each time it is called; while one is under way, all further wishes together
 * are one more. `answer` hears whether it is still the newest.
 * @type {(answer: (isNewest: () => boolean) => Promise<void>, signal: AbortSignal) =>
 *   () => Promise<void>}
 */
export function newest(answer, signal) {
  let [wanted, running] = [false, false];
  return async () => {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted && !signal.aborted) {
      wanted = false;
      await answer(() => !wanted);
    }
    running = false;
  };
}
