// @ts-check
// The words that the model would write next, each a bar.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { hearPointer } from "./moved.js";
import { percent } from "./words.js";

const OTHERS = "all others";

/**
 * `point` hears which bar is pointed at, −1 for none; `press` which is pressed.
 * @param {{ words: string[], point: (w: number) => void, press: (w: number) => void,
 *   signal: AbortSignal }} about
 */
export function nextWords({ words, point, press, signal }) {
  const rows = [...words, OTHERS].map((word, w) => {
    const fill = el("span", { class: "mhsa-fill" });
    const ghost = el("span", { class: "mhsa-ghost" });
    const number = el("span", { class: "mhsa-number" });
    const node = button({ label: "", signal, press: () => press(w) });
    node.className = `mhsa-bar mhsa-name-${w < 2 ? w : -1}`;
    node.append(
      el("span", { class: w < words.length ? "mhsa-what" : "mhsa-what mhsa-quiet" }, word),
      el("span", { class: "mhsa-track" }, fill, ghost),
      number,
    );
    hearPointer(node, (here) => point(here ? w : -1), signal);
    return { node, fill, ghost, number };
  });
  const title = el("p", { class: "mhsa-title" }, "The next word");
  const about = { class: "mhsa-next", role: "group", "aria-label": "The next word" };
  const node = el(
    "div",
    about,
    title,
    rows.map((row) => row.node),
  );

  /**
   * `would` is what a head pointed at would make of it, null for none; `held` is the bar in sight.
   * @type {(chances: number[], would: number[] | null, held: number) => void}
   */
  function draw(chances, would, held) {
    const best = chances.indexOf(Math.max(...chances.slice(0, words.length)));
    rows.forEach(({ node: row, fill, ghost, number }, w) => {
      fill.style.width = `${100 * chances[w]}%`;
      ghost.style.left = `${100 * (would ? would[w] : chances[w])}%`;
      row.classList.toggle("mhsa-would", would !== null && Math.abs(would[w] - chances[w]) > 0.004);
      row.classList.toggle("mhsa-leads", w === best);
      row.setAttribute("aria-pressed", `${w === held}`);
      number.textContent = percent(chances[w]);
    });
  }
  return { node, draw };
}
