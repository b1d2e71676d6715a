// @ts-check
// What the reader can change besides dragging: dials of the rules, and the chosen key.

import { check, choice } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { el } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { numberField } from "../shared/number_field.js";
import { spelled } from "../shared/tokens.js";
import { write } from "../shared/traits.js";
import { HIGHEST } from "./rules.js";

/** @import { Notice } from "../shared/notice.js" */
/** @import { Model } from "../shared/traits.js" */

const FACTORS = [0.1, 0.2, 0.5, 1, 2, 3, 5, 10];
const SHARES = [0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.51, 0.6, 0.75, 0.9, 1];
const SINKS = upTo(15).map((i) => i - 4);
const SCORES = upTo(33).map((i) => i / 4 - 4);

/** @param {Model} model @param {Notice} place @param {AbortSignal} signal */
export function dialsOf(model, { wrong }, signal) {
  /** @type {(label: string, name: string, stops: number[]) => ReturnType<typeof dial>} */
  const of = (label, name, stops) =>
    dial({
      label,
      min: stops[0],
      max: stops[stops.length - 1],
      stops,
      whole: false,
      value: model.get(name),
      signal,
      wrong,
      change: (value) => write(model, name, value),
    });
  return {
    factor: of("factor", "factor", FACTORS),
    part: of("λ", "part", SHARES),
    sink: of("s", "sink", SINKS),
    gate: of("g", "gate", SHARES),
  };
}

/**
 * The chosen key: which one it is, its score, its value, and whether it is there.
 * @param {Model} model @param {Notice} place @param {AbortSignal} signal
 * @param {(key: number, score: number) => void} move @param {(there: boolean) => void} turn
 */
export function keyControls(model, { wrong }, signal, move, turn) {
  const tokens = /** @type {string[]} */ (model.get("tokens"));
  const key = choice({
    label: "key",
    options: tokens.map((token, k) => `${k}: ${spelled(token)}`),
    value: model.get("key"),
    signal,
    change: (k) => write(model, "key", k),
  });
  const score = dial({
    label: "score",
    min: -HIGHEST,
    max: HIGHEST,
    stops: SCORES,
    whole: false,
    value: 0,
    signal,
    wrong,
    change: (value) => move(model.get("key"), value),
  });
  const value = numberField({
    label: "value",
    min: -HIGHEST,
    max: HIGHEST,
    step: 0.25,
    signal,
    wrong,
    change: (number) => {
      const [values, k] = [model.get("values"), model.get("key")];
      write(model, "values", values.with(k, number));
    },
  });
  const there = check({ label: "is there", value: true, signal, change: turn });
  const field = el("span", { class: "mhsa-check" }, "value", value.node);
  return { nodes: [key.node, score.node, field, there.node], key, score, value, there };
}
