// @ts-check
// How far the vector of the sentence has turned: an arrow beside the one of the whole model.

import { svg } from "../shared/elements.js";
import { clamp, counted, fixed } from "../shared/numbers.js";

const LENGTH = 88;

/** An angle in degrees from its cosine. @type {(cosine: number) => number} */
export const angleOf = (cosine) => (Math.acos(clamp(cosine, -1, 1)) * 180) / Math.PI;

/** @type {(cosine: number, off: number) => string} */
export function turned(cosine, off) {
  if (off === 0) return "All heads are on: the sentence vector is the model’s own.";
  const angle = `${fixed(angleOf(cosine), 0)}°`;
  return (
    `Without ${counted(off, "head")} the sentence vector has turned by ${angle}: `
    + `its cosine with the model’s own is ${fixed(cosine, 3)}.`
  );
}

/** The two arrows; `draw` turns the second. */
export function arrows() {
  /** @type {(name: string) => SVGElement} */
  const arrow = (name) => {
    const path = `M0 0H${LENGTH}m-9-5l9 5-9 5`;
    return svg("path", { class: name, d: path });
  };
  const now = arrow("mhsa-now");
  const middle = svg("g", { transform: "translate(100 98)" }, arrow("mhsa-whole"), now);
  const about = { class: "mhsa-arrows", viewBox: "0 0 200 108", "aria-hidden": "true" };
  const node = svg("svg", about, middle);
  /** @type {(cosine: number) => void} */
  const draw = (cosine) => now.setAttribute("transform", `rotate(${-angleOf(cosine)})`);
  return { node, draw };
}
