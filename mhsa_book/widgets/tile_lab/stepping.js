// @ts-check
// Through many steps: back, on, a slider, and by itself where the reader does not mind motion.

import { button } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { clamp } from "../shared/numbers.js";

const PAUSE = 600;

/**
 * `playing` is told whether the steps go by themselves.
 * @param {{ signal: AbortSignal, go: (step: number) => void, playing: (on: boolean) => void }}
 *   about
 */
export function stepping({ signal, go, playing }) {
  let [at, last, timer] = [0, 0, 0];
  /** @type {(step: number) => void} */
  const to = (step) => go(clamp(step, 0, last));
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    playing(false);
  }
  function tick() {
    if (at === last) stop();
    else to(at + 1);
  }
  function toggle() {
    if (timer) return stop();
    if (at === last) to(0);
    timer = setInterval(tick, PAUSE);
    play.textContent = "Pause";
    playing(true);
    return undefined;
  }
  /** @type {(step: number) => void} */
  const byHand = (step) => {
    stop();
    to(step);
  };
  const back = button({ label: "← Previous", signal, press: () => byHand(at - 1) });
  const next = button({ label: "Next →", signal, press: () => byHand(at + 1) });
  const play = button({ label: "Play", signal, press: toggle });
  play.classList.add("mhsa-play");
  play.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const id = uid();
  const range = el("input", { type: "range", id, min: 0, step: 1 });
  range.addEventListener("input", () => byHand(Number(range.value)), { signal });
  signal.addEventListener("abort", stop);
  const slider = el("div", { class: "mhsa-choice" }, el("label", { for: id }, "tile"), range);

  /** @type {(step: number, count: number) => void} */
  function show(step, count) {
    [at, last] = [step, count - 1];
    range.max = `${last}`;
    range.value = `${step}`;
    range.setAttribute("aria-valuetext", `tile ${step + 1} of ${count}`);
    [back.disabled, next.disabled] = [step === 0, step === last];
  }
  return { nodes: [back, next, play, slider], show };
}
