// @ts-check
// Before anybody has looked: two lines that might be, from the last word to what it could mean.

import { svg } from "../shared/elements.js";

const [FLOOR, CEILING] = [111, 18];

/** @param {number[]} among the words that it might belong to */
export function possibleMeanings(among) {
  const lines = among.map(() => svg("path"));
  const marks = among.map(() => svg("text", { "text-anchor": "middle" }, "?"));
  const node = svg("g", { class: "mhsa-maybe" }, lines, marks);
  /**
   * From the last word, or nothing where another one asks.
   * @type {(w: number, at: number[]) => void}
   */
  function draw(w, at) {
    node.setAttribute("display", w === at.length - 1 ? "inline" : "none");
    among.forEach((word, i) => {
      const [from, to, top] = [at[at.length - 1] - 4 * i, at[word], CEILING + 36 * i];
      const high = FLOOR - ((FLOOR - top) * 4) / 3;
      lines[i].setAttribute("d", `M${from} ${FLOOR}C${from} ${high} ${to} ${high} ${to} ${FLOOR}`);
      marks[i].setAttribute("x", `${(from + to) / 2}`);
      marks[i].setAttribute("y", `${top + 6}`);
    });
  }
  return { node, draw };
}
