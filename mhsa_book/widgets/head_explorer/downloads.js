// @ts-check
// What a reader takes along: the numbers as CSV, the picture as SVG.

import { el, svg } from "../shared/elements.js";
import { squares } from "./head_lines.js";

/** @import { Token, Weights } from "./measures.js" */
/** @import { HeadView } from "./head_map.js" */

/**
 * Heads as lines of numbers and tokens that a spreadsheet opens, none of it as a formula.
 * @type {(heads: { layer: number, head: number, weights: Weights }[], queries: Token[],
 *   keys: Token[]) => string}
 */
export function csv(heads, queries, keys) {
  /** @type {(text: string) => string} */
  const quote = (text) =>
    `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const lines = ["layer,head,query,key,query token,key token,weight"];
  for (const { layer, head, weights } of heads) {
    queries.forEach((query, i) =>
      keys.forEach((key, j) => {
        const weight = Number(weights[i * keys.length + j].toFixed(6));
        lines.push(
          [layer, head, query.at, key.at, quote(query.token), quote(key.token), weight].join(","),
        );
      }),
    );
  }
  return `${lines.join("\r\n")}\r\n`;
}

const FILE_STYLE =
  ".mhsa-marked{font-weight:bold;stroke:#fff;stroke-width:4px;paint-order:stroke}"
  + ".mhsa-strand,.mhsa-band,.mhsa-here{stroke:#0060a0}"
  + ".mhsa-band,.mhsa-here,.mhsa-under{fill:none}";

/**
 * A picture by itself: pixels become squares.
 * @type {(view: HeadView, x: number, y: number) => SVGElement}
 */
function alone(view, x, y) {
  const { head, title, picture } = view.shown();
  const copy = /** @type {Element} */ (picture.cloneNode(true));
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    svg("text", { class: "mhsa-marked", x: head.box.left, y: -8 }, title),
    svg("g", { "shape-rendering": "crispEdges" }, squares(head)),
    [...copy.children],
  );
}

/**
 * Pictures side by side as the text of one SVG file.
 * @type {(views: HeadView[], title: string) => string}
 */
export function svgFile(views, title) {
  let width = 12;
  const parts = views.map((view) => {
    const x = width;
    width += view.shown().head.box.width + 16;
    return alone(view, x, 34);
  });
  const height = 46 + Math.max(...views.map((view) => view.shown().head.box.height));
  const hatch = svg(
    "pattern",
    { id: "zero", width: 4, height: 4, patternUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 4L4 0", stroke: "#999" }),
  );
  const file = svg(
    "svg",
    { width, height, "font-family": "sans-serif", "font-size": 11 },
    svg("title", {}, title),
    svg("style", {}, FILE_STYLE),
    hatch,
    svg("rect", { width, height, fill: "#fff" }),
    parts,
  );
  return new XMLSerializer().serializeToString(file);
}

/** Hand a file to the reader. @type {(name: string, type: string, content: string) => void} */
export function download(name, type, content) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
