// @ts-check
// The map of a head, small: which word (row) looks at which (column); the row that asks is framed.

import { svg } from "../shared/elements.js";

/** @import { Matrix } from "../shared/tensor.js" */

const CELL = 9;

/** @param {string} name of the head @param {number} h @param {number} n words */
export function smallMap(name, h, n) {
  const at = Array.from({ length: n * n }, (_, i) => [Math.floor(i / n), i % n]);
  const cells = at.map(([row, column]) =>
    svg("rect", { x: column * CELL, y: row * CELL, width: CELL, height: CELL }),
  );
  const size = n * CELL;
  const frame = svg("rect", { class: "mhsa-row", x: 0, width: size, height: CELL });
  const edge = svg("rect", { class: "mhsa-edge", x: 0, y: 0, width: size, height: size });
  const node = svg(
    "svg",
    {
      class: `mhsa-map mhsa-head-${h}`,
      viewBox: `-2 -2 ${size + 4} ${size + 4}`,
      width: size + 4,
      height: size + 4,
      role: "img",
      "aria-label": `Map of “${name}”: each row is a word that looks, each column one looked at`,
    },
    edge,
    svg("g", { class: "mhsa-cells" }, cells),
    frame,
  );
  /** @type {(weights: Matrix, w: number, off: boolean) => void} */
  function draw(weights, w, off) {
    cells.forEach((cell, i) => {
      const [row, column] = at[i];
      cell.setAttribute("fill-opacity", fullness(weights[row][column]));
    });
    frame.setAttribute("y", `${w * CELL}`);
    node.classList.toggle("mhsa-off", off);
  }
  return { node, draw };
}

/** @type {(weight: number) => string} */
const fullness = (weight) => (weight < 0.01 ? "0" : weight.toFixed(3));
