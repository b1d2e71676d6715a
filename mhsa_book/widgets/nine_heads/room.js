// @ts-check
// Room that is kept, so that nothing below a sentence moves, whatever it says.

import { el } from "../shared/elements.js";

/**
 * Room for the longest of some texts: a second line like `line`, that nobody sees, tries them.
 * @param {HTMLElement} line
 */
export function roomFor(line) {
  const node = el("p", { class: "mhsa-trial", "aria-hidden": "true" });
  /** @type {(texts: string[]) => void} */
  const make = (texts) => {
    const heights = texts.map((text) => {
      node.textContent = text;
      return node.getBoundingClientRect().height; // offsetHeight rounds: half a pixel jumps
    });
    node.textContent = "";
    line.style.minHeight = `${Math.max(...heights)}px`;
  };
  return { node, make };
}
