// @ts-check
// What the figure says: is the translation right, and where does one word look?

import { counted, fixed } from "../shared/numbers.js";
import { lookedAt } from "./picture.js";
import { judged, named } from "./strip.js";

/** @import { Shown } from "./running.js" */

const MANY = 3;

/** @type {(off: string[], instead: string) => string} */
export function without(off, instead) {
  if (!off.length) return "With all heads on";
  const names = off.length > MANY ? counted(off.length, "head") : off.join(", ");
  return `Without ${names} (${instead === "mean" ? "their mean" : "0"} instead)`;
}

/** How a translation differs from the right one. @type {(shown: Shown) => string} */
export function verdict(shown) {
  const kinds = judged(shown).map(({ kind }) => kind);
  const counts = /** @type {const} */ (["wrong", "extra", "missing"]).map((kind) => {
    const n = kinds.filter((one) => one === kind).length;
    return n ? `${n} ${kind === "extra" ? "too many" : kind}` : "";
  });
  return counts.filter(Boolean).join(", ") || "right";
}

/** The whole figure in two sentences. @type {(shown: Shown) => string} */
export function describe(shown) {
  const { said, word, chances, off, instead, signs } = shown;
  const words = said.filter((text) => text !== signs.end).join(" ");
  const whole = `${without(off, instead)}, it says “${words}”: ${verdict(shown)}.`;
  const looked = lookedAt(shown);
  const one = `“${named(said[word], signs.end)}” has probability ${fixed(chances[word])}`;
  return `${whole} ${one}${looked ? `; there ${looked}` : ""}.`;
}
