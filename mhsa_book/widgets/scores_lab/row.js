// @ts-check
// The row of scores: a bar for each key that is dragged, or moved with the arrow keys.

import { el } from "../shared/elements.js";
import { clamp, fixed } from "../shared/numbers.js";
import { spelled } from "../shared/tokens.js";
import { turnToFit } from "../shared/upright.js";
import { HIGHEST } from "./rules.js";

const STEP = 0.25;
/** @type {Record<string, number>} */
const STEPS = { ArrowUp: STEP, ArrowDown: -STEP, PageUp: 1, PageDown: -1, Home: -99, End: 99 };
/** @type {Record<string, number>} */
const SIDEWAYS = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * Numbers of a scale, left of its bars.
 * @type {(values: number[], up: (value: number) => number) => HTMLElement[]}
 */
export const ticksAt = (values, up) =>
  [...new Set(values)].map((value) => {
    const about = { class: "mhsa-tick", "aria-hidden": "true" };
    return el(
      "span",
      { ...about, style: `bottom:${100 * up(value)}%` },
      `${value}`.replace("-", "−"),
    );
  });

/**
 * `move` hears of a new score, `choose` of the key that is now the chosen one.
 * @param {string[]} tokens
 * @param {{ signal: AbortSignal, move: (key: number, score: number) => void,
 *   choose: (key: number) => void }} hands
 */
export function scoreRow(tokens, { signal, move, choose }) {
  let now = /** @type {number[]} */ ([]);
  const bars = tokens.map(() => el("div", { class: "mhsa-bar" }));
  const names = tokens.map((token) =>
    el("span", { class: "mhsa-name", "aria-hidden": "true" }, spelled(token, 6)),
  );
  const columns = tokens.map((token, k) => {
    const about = { role: "slider", "aria-orientation": "vertical", class: "mhsa-score" };
    const range = { "aria-valuemin": -HIGHEST, "aria-valuemax": HIGHEST };
    const label = { "aria-label": `score of ${token}` };
    return el("div", { ...about, ...range, ...label, tabindex: -1 }, bars[k], names[k]);
  });
  const rounded = (/** @type {number} */ score) =>
    clamp(Math.round(score * 10) / 10, -HIGHEST, HIGHEST);

  columns.forEach((column, k) => {
    let held = false;
    /** @type {(event: PointerEvent) => void} */
    const follow = (event) => {
      const { top, height } = column.getBoundingClientRect();
      move(k, rounded(HIGHEST - (2 * HIGHEST * (event.clientY - top)) / height));
    };
    const grasp = (/** @type {PointerEvent} */ event) => {
      if (event.button !== 0) return;
      held = true;
      column.setPointerCapture(event.pointerId);
      choose(k);
      follow(event);
    };
    const drag = (/** @type {PointerEvent} */ event) => {
      if (held) follow(event);
    };
    const lift = () => {
      held = false;
    };
    /** @type {(event: KeyboardEvent) => void} */
    const key = (event) => {
      const [step, side] = [STEPS[event.key], SIDEWAYS[event.key]];
      if (event.ctrlKey || event.altKey || event.metaKey || !(step || side)) return;
      event.preventDefault();
      if (step) move(k, clamp(now[k] + step, -HIGHEST, HIGHEST));
      else columns[k + side]?.focus();
    };
    column.addEventListener("pointerdown", grasp, { signal });
    column.addEventListener("pointermove", drag, { signal });
    column.addEventListener("pointerup", lift, { signal });
    column.addEventListener("pointercancel", lift, { signal });
    column.addEventListener("keydown", key, { signal });
    column.addEventListener("focus", () => choose(k), { signal });
  });

  /** @type {(scores: number[], removed: number[], chosen: number) => void} */
  function draw(scores, removed, chosen) {
    now = scores;
    scores.forEach((score, k) => {
      const share = (50 * score) / HIGHEST;
      bars[k].style.bottom = `${50 + Math.min(0, share)}%`;
      bars[k].style.height = `${Math.abs(share)}%`;
      bars[k].classList.toggle("mhsa-negative", score < 0);
      const gone = removed.includes(k);
      columns[k].classList.toggle("mhsa-gone", gone);
      columns[k].classList.toggle("mhsa-chosen", k === chosen);
      columns[k].tabIndex = k === chosen ? 0 : -1;
      columns[k].setAttribute("aria-valuenow", `${score}`);
      columns[k].setAttribute("aria-valuetext", fixed(score) + (gone ? ", removed" : ""));
    });
  }
  const many = tokens.length > 10 ? " mhsa-many" : "";
  const about = { class: `mhsa-scores${many}`, role: "group", "aria-label": "scores of all keys" };
  const scale = ticksAt([-HIGHEST, 0, HIGHEST], (score) => score / HIGHEST / 2 + 0.5);
  const node = el("div", about, columns, scale);
  turnToFit(node, names, signal);
  return { node, draw };
}
