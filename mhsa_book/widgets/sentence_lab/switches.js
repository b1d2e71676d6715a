// @ts-check
// The heads: a switch for each, and its map.

import { check } from "../shared/controls.js";
import { writeAll } from "../shared/traits.js";
import { sample } from "./arcs.js";
import { smallMap } from "./maps.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Head } from "./attended.js" */

/**
 * `along` is what else changes with a switch.
 * @param {Model} model @param {string[]} names @param {number} n words
 * @param {() => Record<string, unknown>} along @param {AbortSignal} signal
 */
export function switches(model, names, n, along, signal) {
  /** @type {(h: number, on: boolean) => void} */
  const turn = (h, on) => {
    const others = /** @type {number[]} */ (model.get("off")).filter((i) => i !== h);
    const off = on ? others : [...others, h].sort((a, b) => a - b);
    writeAll(model, { off, ...along() });
  };
  const maps = names.map((name, h) => smallMap(name, h, n));
  const checks = names.map((label, h) => {
    const one = check({ label, value: true, signal, change: (on) => turn(h, on) });
    one.box.after(sample(h));
    return one;
  });
  /** @type {(heads: Head[], w: number, off: number[]) => void} */
  function draw(heads, w, off) {
    checks.forEach((one, h) => one.show(!off.includes(h)));
    maps.forEach((map, h) => map.draw(heads[h].weights, w, off.includes(h)));
  }
  return { nodes: checks.map(({ node }) => node), draw, maps: maps.map(({ node }) => node) };
}
