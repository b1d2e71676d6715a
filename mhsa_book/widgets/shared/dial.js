// @ts-check
// A slider that goes from one valid value to the next, beside a field to type.

import { el, uid } from "./elements.js";
import { clamp, counted } from "./numbers.js";
import { doublings, further, nearest } from "./stops.js";

/** @import { Wrong } from "./notice.js" */

const PAGE = 3;
/** @type {Record<string, number>} */
const UP_AND_DOWN = { ArrowUp: 1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE };
/** @type {Record<string, number>} */
const ALONG = { ...UP_AND_DOWN, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/**
 * A number to slide from stop to stop, or to type: typed, it counts once it is confirmed, and
 * Escape restores what was there. What is typed or given stays a stop of its own, unless `show`
 * comes with the only ones a rule leaves. `wrong` hears why a typed number is refused and what
 * would do, or null when the mistake is gone. Without `stops` it goes through the doublings.
 * @param {{ label: string, unit?: string, min?: number, max: number, stops?: number[],
 *   whole?: boolean, value: number, signal: AbortSignal, change: (size: number) => void,
 *   wrong: Wrong }} about
 */
export function dial(about) {
  const { label, unit, min = 1, max, stops = doublings(max), whole = true, signal } = about;
  const { value, change, wrong } = about;
  const id = uid();
  const range = el("input", { type: "range", id, min: 0, step: 1 });
  const typed = el("input", {
    type: "number",
    min,
    max,
    step: whole ? 1 : "any",
    inputmode: whole ? "numeric" : "decimal",
    "aria-label": `${label}, exactly`,
  });
  let [list, now] = [stops, value];
  let own = /** @type {number | null} */ (null);
  let rule = /** @type {number[] | null} */ (null);

  /** @type {(size: number, only?: number[] | null) => void} */
  function show(size, only = null) {
    [rule, now] = [only, size];
    if (!only && !stops.includes(size) && size >= min && size <= max) own = size;
    list = only ?? [...new Set([...stops, own ?? stops[0]])].sort((a, b) => a - b);
    const fits = only === null || only.includes(size);
    const words = unit ? counted(size, unit) : `${size}`;
    range.max = `${list.length - 1}`;
    range.value = `${list.indexOf(nearest(list, size))}`;
    range.setAttribute("aria-valuetext", words + (fits ? "" : ", which does not fit"));
    if (typed.value === "" || Number(typed.value) !== size) typed.value = `${size}`;
    typed.setAttribute("aria-invalid", `${!fits}`);
  }
  /**
   * The same number again changes nothing, but it unsays what was wrong.
   * @type {(size: number) => void}
   */
  function take(size) {
    show(size, rule);
    wrong(null);
    change(size);
  }
  /** @type {(event: KeyboardEvent, keys: Record<string, number>, from: number) => void} */
  function step(event, keys, from) {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    const next = further(list, from, keys[event.key]);
    if (next !== undefined) take(next);
  }
  /** @type {() => void} */
  function confirm() {
    const size = Number(typed.value);
    const inside = size >= min && size <= max;
    if (typed.value !== "" && (!whole || Number.isInteger(size)) && inside) return take(size);
    typed.setAttribute("aria-invalid", "true");
    const close = typed.value === "" ? now : clamp(whole ? Math.round(size) : size, min, max);
    const near = rule ? nearest(rule, close) : close;
    const says = `${label} must be a ${whole ? "whole " : ""}number from ${min} to ${max}.`;
    return wrong(says, [[`${label} = ${near}`, () => take(near)]]);
  }
  function restore() {
    if (typed.ariaInvalid === "true") wrong(null);
    show(now, rule);
  }

  range.addEventListener("input", () => take(list[Number(range.value)]), { signal });
  range.addEventListener("keydown", (event) => step(event, ALONG, now), { signal });
  typed.addEventListener("change", confirm, { signal });
  typed.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape") restore();
      else step(event, UP_AND_DOWN, typed.value === "" ? now : Number(typed.value));
    },
    { signal },
  );
  show(value);
  const node = el("div", { class: "mhsa-dial" }, el("label", { for: id }, label), range, typed);
  return { node, show };
}
