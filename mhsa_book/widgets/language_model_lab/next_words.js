// @ts-check
// The likeliest next words as bars; one of them is chosen, and what adds to it is shown beside.

import { el } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { rove } from "../shared/roving_tabindex.js";
import { spelled } from "../shared/tokens.js";
import { watch, write } from "../shared/traits.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Found, Next } from "./engine/answers.js" */

const ROWS = 10;

/** A button with its bar; `draw` shows another word. */
function wordBar() {
  const [word, bar, number] = [el("bdi"), el("span", { class: "mhsa-share" }), el("span")];
  const [track, heard] = [el("span", { class: "mhsa-track" }, bar), el("span")];
  heard.className = "mhsa-hidden";
  const node = el("button", { type: "button", class: "mhsa-word" }, word, track, number, heard);
  /** @type {(next: Next, chosen: boolean) => void} */
  function draw({ text, p, whole }, chosen) {
    word.textContent = spelled(text);
    number.textContent = fixed(p, 3);
    heard.textContent = whole === null ? "" : `with all heads on ${fixed(whole, 3)}`;
    bar.style.setProperty("--share", `${p}`);
    track.style.setProperty("--whole", `${whole ?? -1}`);
    node.setAttribute("aria-pressed", `${chosen}`);
  }
  return { node, draw };
}

/** `chosen` of the model is the place of a word among `found.next`.
 * @param {Model} model @param {AbortSignal} signal */
export function nextWords(model, signal) {
  const found = () => /** @type {Found} */ (model.get("found"));
  const story = el("p", { class: "mhsa-story", "aria-live": "polite" });
  const bars = Array.from({ length: ROWS }, wordBar);
  const nodes = bars.map(({ node }) => node);
  nodes.forEach((node, i) => {
    node.addEventListener("click", () => write(model, "chosen", i), { signal });
  });
  rove(nodes, 1, signal);
  function draw() {
    const { next, tokens, written } = found();
    bars.forEach((bar, i) => bar.draw(next[i], i === model.get("chosen")));
    const parts = [el("span", {}, model.get("prompt")), el("b", {}, written)];
    story.replaceChildren(...parts, ` (${tokens.length} tokens)`);
  }
  watch(model, ["found", "chosen"], draw, signal);
  draw();
  const label = "The likeliest next words; arrow keys move, Enter chooses one";
  const list = el("div", { class: "mhsa-next", role: "group", "aria-label": label }, nodes);
  const mark = "Where heads are off, a line marks the probability with all heads on.";
  const title = el("p", { class: "mhsa-title" }, "What comes next");
  return el("div", {}, title, story, list, el("p", { class: "mhsa-quiet" }, mark));
}
