// @ts-check
// The first minute: six steps, what each says, and which parts of the picture it has reached.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { stepButtons } from "../shared/stepper.js";

/** The step in which words have looked; before, nothing is known of their neighbours. */
export const LOOKED = 2;
/**
 * A sentence of the walk, about one of the last words.
 * @type {(text: string, last: string, other: string, meant: string, asked: string) => string}
 */
export function filled(text, last, other, meant, asked) {
  const words = /** @type {Record<string, string>} */ ({ last, other, meant, asked });
  return text.replace(/\{(\w+)\}/g, (_, name) => words[name]);
}

/**
 * Buttons from step to step, and the sentence of the one in sight; `places` is where each happens.
 * @param {{ steps: string[][], places: Element[], index: () => number, go: (i: number) => void,
 *   again: () => void, signal: AbortSignal }} about
 */
export function guidedSteps({ steps, places, index, go, again, signal }) {
  const names = steps.map(([name], i) => `${i + 1} ${name}`);
  /** @type {(i: number) => void} */
  const goThere = (i) => {
    // A key leaves the page where it is: what has the focus has to stay in sight.
    const byKey = document.activeElement?.matches(":focus-visible") ?? false;
    const last = i === places.length - 1;
    const nextIsDone = last && document.activeElement === buttons.next;
    go(i);
    // What the last switch changes lies below it.
    if (!byKey) places[i].scrollIntoView({ block: last ? "start" : "nearest" });
    if (nextIsDone) places[i].querySelector("input")?.focus({ preventScroll: !byKey });
  };
  const buttons = stepButtons({ names, label: "Steps", index, go: goThere, signal });
  const restart = button({ label: "Start again", signal, press: again });
  const onward = el("div", { class: "mhsa-controls" }, buttons.back, buttons.next, restart);
  const said = el("p", { class: "mhsa-says", role: "status" });
  const bar = el("div", { class: "mhsa-walk" }, said, onward);

  /** @type {(i: number, text: string) => void} */
  function show(i, text) {
    buttons.show(i);
    if (said.textContent !== text) said.textContent = text;
  }
  return { nodes: [buttons.list, bar], show };
}
