// @ts-check
// The losses of all seeds: the right attention broken, with the mistake in full.

import { svg } from "../shared/elements.js";

const PLOT = { left: 30, right: 330, top: 10, bottom: 150 };
const MOST = 240;
/** Losses are hundredths of a nat. @typedef {(number | null)[][]} Losses */

/** @type {(loss: number) => number} */
const up = (loss) => PLOT.bottom - (Math.min(loss, MOST) / MOST) * (PLOT.bottom - PLOT.top);

/** @type {(row: (number | null)[], look: string) => SVGElement} */
function line(row, look) {
  const step = (PLOT.right - PLOT.left) / Math.max(row.length - 1, 1);
  let pen = "M";
  const parts = row.map((loss, i) => {
    if (loss === null) return "";
    const part = `${pen}${(PLOT.left + i * step).toFixed(1)} ${up(loss).toFixed(1)}`;
    pen = "L";
    return part;
  });
  return svg("path", { d: parts.join(""), fill: "none", class: look });
}

/** @type {(x: number, y: number, words: string, anchor?: string) => SVGElement} */
const words = (x, y, text, anchor = "end") => svg("text", { x, y, "text-anchor": anchor }, text);

/**
 * @type {(wrong: Losses, right: Losses, every: number, label: string) => SVGElement}
 */
export function drawnLosses(wrong, right, every, label) {
  const levels = [0, 100, 200].flatMap((loss) => [
    svg("path", { d: `M${PLOT.left} ${up(loss)}H${PLOT.right}`, class: "mhsa-axis" }),
    words(PLOT.left - 5, up(loss) + 4, `${loss / 100}`),
  ]);
  const steps = right[0].length * every;
  return svg(
    "svg",
    { viewBox: "0 0 340 172", role: "img", "aria-label": label },
    levels,
    right.map((row) => line(row, "mhsa-right")),
    wrong.map((row) => line(row, "mhsa-wrong-line")),
    words(PLOT.left, 167, "step 0", "start"),
    words(PLOT.right, 167, `${steps}`),
  );
}
