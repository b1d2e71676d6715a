// @ts-check
// The sentence, and over it the arcs of one head: from the word that asks, as thick as the weight.

import { el, svg } from "../shared/elements.js";
import { rove } from "../shared/roving_tabindex.js";
import { arrive, hearPointer, isMoving } from "./moved.js";
import { percent } from "./words.js";

const LEAST = 0.01; // a weight below has no arc
const TOLD = 0.03; // nor a number, below that
const THICK = 11;

/** Where a word lies in the sentence. @typedef {{ x: number, top: number, bottom: number }} Spot */

/** @type {(node: HTMLElement) => Spot} */
const spotOf = ({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => ({
  x: offsetLeft + offsetWidth / 2,
  top: offsetTop,
  bottom: offsetTop + offsetHeight,
});

/**
 * From a word up to one in a line above, over to one in its own line, or round to itself.
 * @type {(from: Spot, to: Spot, room: number) => string}
 */
export function arcBetween(from, to, room) {
  if (to.bottom < from.top) {
    const bend = 0.65 * (from.top - to.bottom);
    const [start, end] = [`${from.x} ${from.top}`, `${to.x} ${to.bottom}`];
    return `M${start}C${from.x} ${from.top - bend} ${to.x} ${to.bottom + bend} ${end}`;
  }
  const near = from.x === to.x;
  const [x1, x2] = near ? [from.x + 5, from.x - 5] : [from.x, to.x];
  const rise = near ? 38 : Math.min(room / 0.75, 26 + 0.3 * Math.abs(x1 - x2));
  const [a, b] = near ? [x1 + 16, x2 - 16] : [x1, x2];
  return `M${x1} ${from.top}C${a} ${from.top - rise} ${b} ${to.top - rise} ${x2} ${to.top}`;
}

/**
 * `kind` says which of the two names a word is, if any; `ask` hears of a word that is pressed,
 * `point` of one that is pointed at, or whose arc is.
 * @param {{ tokens: string[], kind: (word: string) => number, ask: (w: number) => void,
 *   point: (w: number) => void, signal: AbortSignal }} about
 */
export function sentence({ tokens, kind, ask, point, signal }) {
  const shares = tokens.map(() => el("span", { class: "mhsa-share" }));
  const words = tokens.map((text, i) => {
    const about = { type: "button", class: `mhsa-word mhsa-name-${kind(text)}` };
    const node = el("button", about, el("span", { class: "mhsa-text" }, text), shares[i]);
    node.classList.toggle("mhsa-comma", text === ",");
    node.addEventListener("click", () => ask(i), { signal });
    hearPointer(node, (here) => point(here ? i : -1), signal);
    return node;
  });
  rove(words, words.length, signal);
  const guess = el("span", { class: "mhsa-text" });
  const slot = el("span", { class: "mhsa-slot" }, guess);
  const comma = tokens.indexOf(",") + 1;
  const parts = [
    ...words.slice(0, comma),
    el("span", { class: "mhsa-break" }),
    ...words.slice(comma),
  ];

  const arcs = tokens.map((text, i) => {
    const line = svg("path", { class: "mhsa-arc" });
    const flow = svg("path", { class: "mhsa-flow", pathLength: 1 });
    const touch = svg("path", { class: "mhsa-touch" });
    hearPointer(touch, (here) => point(here ? i : -1), signal);
    const touched = (/** @type {PointerEvent} */ { pointerType }) => {
      if (pointerType === "touch") point(i);
    };
    touch.addEventListener("pointerdown", touched, { signal });
    return {
      node: svg("g", { class: `mhsa-name-${kind(text)}` }, line, flow, touch),
      line,
      flow,
      touch,
    };
  });
  const picture = svg(
    "svg",
    { "aria-hidden": "true" },
    arcs.map(({ node }) => node),
  );
  const about = { class: "mhsa-sentence", role: "group", "aria-label": "The sentence" };
  const node = el("div", about, picture, ...parts, slot);

  /**
   * The weights of word `query`; `pointed` is the word in question, −1 for none.
   * @type {(row: number[], query: number, pointed: number, off: boolean) => void}
   */
  function draw(row, query, pointed, off) {
    const spots = words.map(spotOf);
    const above = spots.map(({ bottom }) => bottom).filter((bottom) => bottom < spots[query].top);
    const room = spots[query].top - Math.max(0, ...above) - 6;
    node.classList.toggle("mhsa-is-off", off);
    node.classList.toggle("mhsa-one", pointed >= 0 && (row[pointed] ?? 0) >= LEAST);
    arcs.forEach(({ node: arc, line, flow, touch }, i) => {
      const weight = row[i] ?? 0;
      arc.setAttribute("display", weight < LEAST ? "none" : "inline");
      arc.classList.toggle("mhsa-lit", i === pointed);
      const path = arcBetween(spots[query], spots[i], room);
      for (const one of [line, flow, touch]) one.setAttribute("d", path);
      line.style.strokeWidth = `${0.8 + THICK * weight}px`;
      line.style.setProperty("--mhsa-full", `${0.35 + 0.6 * weight}`);
      flow.style.strokeWidth = `${Math.max(2, 0.5 * THICK * weight)}px`;
    });
    words.forEach((word, i) => {
      word.setAttribute("aria-pressed", `${i === query}`);
      word.classList.toggle("mhsa-later", i > query);
      word.classList.toggle("mhsa-lit", i === pointed);
      shares[i].textContent = (row[i] ?? 0) >= TOLD ? percent(row[i]) : "";
    });
  }

  /** The word that the model would write. @type {(word: string, lit: boolean) => void} */
  function say(word, lit) {
    if (guess.textContent !== word) arrive(slot);
    guess.textContent = word;
    slot.className = `mhsa-slot mhsa-name-${kind(word)}${lit ? " mhsa-lit" : ""}`;
  }

  /** What a word attends to comes along the arc. @type {(row: number[]) => void} */
  function flowAlong(row) {
    if (!isMoving()) return;
    arcs.forEach(({ flow }, i) => {
      if ((row[i] ?? 0) < 0.1) return;
      const about = { duration: 1100, easing: "ease-in-out" };
      flow.animate([{ strokeDashoffset: -1 }, { strokeDashoffset: 0.12 }], about);
    });
  }
  return { node, draw, say, flowAlong };
}
