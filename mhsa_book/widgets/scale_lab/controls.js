// @ts-check
// What the reader of the scale lab can change.

import { button, choice } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { write } from "../shared/traits.js";
import { WIDEST } from "./random_vectors.js";
import { FACTORS } from "./saturation.js";

/** @import { Notice } from "../shared/notice.js" */
/** @import { Model } from "../shared/traits.js" */

export const SCALES = Object.keys(FACTORS);

export const TEMPERATURES = [0.01, 0.1, 1, 10, 100, 1000]
  .flatMap((ten) => [ten, 2 * ten, 5 * ten])
  .concat(10_000);

/** The controls, by name. @param {Model} model @param {Notice} place @param {AbortSignal} signal */
export function controlsOf(model, place, signal) {
  const width = dial({
    label: "d_head",
    unit: "column",
    max: WIDEST,
    value: model.get("d_head"),
    signal,
    wrong: place.wrong,
    change: (size) => write(model, "d_head", size),
  });
  const scale = choice({
    label: "scale",
    options: SCALES.map((name) => name.replace("sqrt(d_head)", "√d_head")),
    value: 0,
    signal,
    change: (i) => write(model, "scale", SCALES[i]),
  });
  const warmth = dial({
    label: "temperature",
    min: TEMPERATURES[0],
    max: TEMPERATURES[TEMPERATURES.length - 1],
    stops: TEMPERATURES,
    whole: false,
    value: model.get("temperature"),
    signal,
    wrong: place.wrong,
    change: (value) => write(model, "temperature", value),
  });
  const press = () => write(model, "seed", (model.get("seed") + 1) % 10_000);
  const again = button({ label: "Draw again", signal, press });
  return { width, scale, warmth, again };
}
