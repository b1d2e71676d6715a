// @ts-check
// The side of a model that runs in a worker, so that the page stays smooth.

/**
 * What is said first makes the model; everything after it is a question.
 * @type {(make: (first: any) => Record<string, (...about: any[]) => unknown>) => void}
 */
export function answerQuestions(make) {
  /** @type {ReturnType<typeof make> | null} */
  let answers = null;
  /** @type {(said: any) => unknown} */
  function hear(said) {
    if (answers) return answers[said.ask](...said.about);
    answers = make(said);
    return null;
  }
  self.addEventListener("message", ({ data }) => {
    try {
      self.postMessage({ answer: hear(data) });
    } catch (error) {
      self.postMessage({ error: error instanceof Error ? error.message : `${error}` });
    }
  });
}
