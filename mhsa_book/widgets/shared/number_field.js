// @ts-check
// A number to type, without a slider: a cell of a table that the reader may change.

import { el } from "./elements.js";
import { clamp } from "./numbers.js";

/** @import { Wrong } from "./notice.js" */

/**
 * The number counts once it is confirmed; Escape restores what was there, arrow keys go up and
 * down by `step`. `wrong` hears why a number is refused and what would do, or null.
 * @param {{ label: string, min: number, max: number, step: number, signal: AbortSignal,
 *   change: (value: number) => void, wrong: Wrong }} about
 */
export function numberField({ label, min, max, step, signal, change, wrong }) {
  const about = { type: "number", class: "mhsa-field", min, max, step: "any" };
  const node = el("input", { ...about, inputmode: "decimal", "aria-label": label });
  let now = 0;
  /** Two decimals are enough to read. @type {(value: number) => void} */
  function show(value) {
    now = value;
    node.value = (Math.abs(value) < 0.005 ? 0 : value).toFixed(2);
    node.setAttribute("aria-invalid", "false");
  }
  /** @type {(value: number) => void} */
  function take(value) {
    show(value);
    wrong(null);
    change(value);
  }
  function confirm() {
    const value = Number(node.value);
    if (node.value !== "" && value >= min && value <= max) return take(value);
    node.setAttribute("aria-invalid", "true");
    const near = node.value === "" ? Number(now.toFixed(2)) : clamp(value, min, max);
    const says = `${label} must be a number from ${min} to ${max}.`;
    return wrong(says, [[`${label} = ${near}`.replace("-", "−"), () => take(near)]]);
  }
  /** @type {(event: KeyboardEvent) => void} */
  function key(event) {
    if (event.key === "Escape") {
      if (node.ariaInvalid === "true") wrong(null);
      return show(now);
    }
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (way === undefined || event.ctrlKey || event.altKey || event.metaKey) return undefined;
    event.preventDefault();
    return take(clamp(Number((now + way * step).toFixed(6)), min, max));
  }
  node.addEventListener("change", confirm, { signal });
  node.addEventListener("keydown", key, { signal });
  return { node, show };
}

/** @typedef {ReturnType<typeof numberField>} NumberField */
