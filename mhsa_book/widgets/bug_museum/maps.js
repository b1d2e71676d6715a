// @ts-check
// A small attention map: rows are queries, columns keys; a cross is a number that is none.

import { weightColour } from "../shared/colours.js";
import { svg } from "../shared/elements.js";
import { bytes, upTo } from "../shared/numbers.js";

const [LEFT, TOP, SIDE] = [50, 50, 16];
const NONE = 255;

/** @type {(x: number, y: number) => SVGElement} */
const cross = (x, y) =>
  svg("path", { class: "mhsa-nan", d: `M${x + 3} ${y + 3}l10 10M${x + 13} ${y + 3}l-10 10` });

/**
 * One cell, between tokens of both axes.
 * @type {(level: number, query: number, key: number, names: string[]) => SVGElement}
 */
function cell(level, query, key, names) {
  const [x, y] = [LEFT + SIDE * key, TOP + SIDE * query];
  if (level === NONE) return cross(x, y);
  const share = level / 254;
  const words = `${names[query]} looks at ${names[key]}: ${share.toFixed(2)}`;
  const about = { x, y, width: SIDE - 1, height: SIDE - 1, fill: weightColour(share) };
  return svg("rect", { class: "mhsa-weight", ...about }, svg("title", {}, words));
}

/**
 * The map of one head, from the levels of all heads.
 * @type {(levels: string, head: number, names: string[], label: string) => SVGElement}
 */
export function drawnMap(levels, head, names, label) {
  const [n, all] = [names.length, bytes(levels)];
  const end = LEFT + SIDE * n + 2;
  /** @type {(i: number) => number} */
  const middle = (i) => SIDE * i + SIDE / 2 + 3;
  const cells = upTo(n * n).map((i) =>
    cell(all[head * n * n + i], Math.floor(i / n), i % n, names),
  );
  const rows = names.map((name, i) =>
    svg("text", { x: LEFT - 4, y: TOP + middle(i), "text-anchor": "end" }, name),
  );
  const columns = names.map((name, i) => {
    const x = LEFT + middle(i) - 1;
    return svg("text", { transform: `translate(${x} ${TOP - 4}) rotate(-90)` }, name);
  });
  const about = { viewBox: `0 0 ${end} ${TOP + SIDE * n + 2}`, role: "img", "aria-label": label };
  return svg("svg", about, rows, columns, cells);
}
