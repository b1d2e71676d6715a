// @ts-check
// The frame of a figure, and its lifetime.

import { el } from "./elements.js";

/** @import { Model } from "./traits.js" */
/**
 * Where a figure is mounted, and on what state.
 * @typedef {{ model: Model, el: HTMLElement }} Place
 */
/** Takes a figure away. @typedef {() => void} End */

/**
 * Everything in the figure listens with `signal`; `end` undoes all.
 * @type {(root: HTMLElement, name: string) => { body: HTMLElement, signal: AbortSignal, end: End }}
 */
export function frame(root, name) {
  const life = new AbortController();
  root.classList.add("mhsa-figure", `mhsa-${name}`);
  // JupyterLab would take arrow keys and Enter for its own cells.
  const body = el("div", { class: "mhsa-body", "data-lm-suppress-shortcuts": "true" });
  // Once it has heard of Enter in a field, neither "change" nor "submit" comes.
  const keep = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") event.stopPropagation();
  };
  body.addEventListener("keydown", keep, { signal: life.signal });
  root.append(body);
  keepRoom(body, life.signal);
  const end = () => {
    life.abort();
    body.remove();
  };
  return { body, signal: life.signal, end };
}

/**
 * The room that a part of a figure has once needed stays, until the figure gets another width:
 * what lies below it does not move back and forth. What is folded, or marked so, may shrink.
 * @type {(body: HTMLElement, signal: AbortSignal) => void}
 */
function keepRoom(body, signal) {
  let width = 0;
  const parts = () => /** @type {HTMLElement[]} */ ([...body.children]);
  const grown = new ResizeObserver(() => {
    if (body.clientWidth !== width)
      parts().forEach((part) => part.style.removeProperty("min-height"));
    width = body.clientWidth;
    for (const part of parts()) {
      if (part.matches("details, .mhsa-shrinks") || !part.checkVisibility()) continue;
      part.style.minHeight = getComputedStyle(part).height;
    }
  });
  const more = new MutationObserver(() => parts().forEach((part) => grown.observe(part)));
  more.observe(body, { childList: true });
  signal.addEventListener("abort", () => {
    grown.disconnect();
    more.disconnect();
  });
}

/**
 * Draw now, and again whenever the element gets another size.
 * @type {(node: Element, draw: () => void, signal: AbortSignal) => void}
 */
export function drawToFit(node, draw, signal) {
  let drawn = "";
  const size = () => {
    const { width, height } = node.getBoundingClientRect();
    return `${width} ${height}`;
  };
  const drawOnce = () => {
    draw();
    drawn = size(); // drawing may have changed it
  };
  // The observer reports the first size too, in which the figure is already drawn.
  const resized = new ResizeObserver(() => {
    if (size() !== drawn) drawOnce();
  });
  signal.addEventListener("abort", () => resized.disconnect());
  drawOnce();
  resized.observe(node);
}
