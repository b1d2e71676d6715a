// A slider that goes from one valid value to the next, beside a field to type.

import { clamp, counted, el, uid } from "./kit.js";

/** What a dial steps through unless its figure has a list: 1, 2, 4, … and the largest. */
export function doublings(most) {
  const powers = Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, i) => 2 ** i);
  return [...new Set([...powers, most])];
}

/** Of positive numbers, the one that differs from `wish` by the smallest factor. */
export function nearest(numbers, wish) {
  const off = (number) => Math.abs(Math.log(number / wish));
  return numbers.reduce((best, number) => (off(number) < off(best) ? number : best));
}

const PAGE = 3;
const UP_AND_DOWN = { ArrowUp: 1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE };
const ALONG = { ...UP_AND_DOWN, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/**
 * A number to slide from stop to stop, or to type: typed, it counts once it is confirmed, and Escape
 * restores what was there. What is typed or given stays a stop of its own, unless `show` comes with
 * the only ones a rule leaves. `wrong` hears why a typed number is refused and what would do, or null
 * when the mistake is gone.
 */
export function dial({
  label,
  unit,
  min = 1,
  max,
  stops = doublings(max),
  whole = true,
  value,
  signal,
  change,
  wrong,
}) {
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
  let [list, rule, now, own] = [stops, null, value, null];

  function show(size, only = null) {
    [rule, now] = [only, size];
    if (!only && !stops.includes(size) && size >= min && size <= max) own = size;
    list = only ?? [...new Set([...stops, own ?? stops[0]])].sort((a, b) => a - b);
    const fits = only === null || only.includes(size);
    range.max = list.length - 1;
    range.value = list.indexOf(nearest(list, size));
    range.setAttribute(
      "aria-valuetext",
      (unit ? counted(size, unit) : `${size}`) + (fits ? "" : ", which does not fit"),
    );
    if (Number(typed.value) !== size) typed.value = size;
    typed.setAttribute("aria-invalid", !fits);
  }
  /** The same number again changes nothing, but it unsays what was wrong. */
  function take(size) {
    show(size, rule);
    wrong(null);
    change(size);
  }
  const step = (keys, from) => (event) => {
    const by = event.ctrlKey || event.altKey || event.metaKey ? undefined : keys[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = from();
    const ahead =
      by > 0 ? list.filter((stop) => stop > at) : list.filter((stop) => stop < at).reverse();
    if (ahead.length) take(ahead[Math.min(Math.abs(by), ahead.length) - 1]);
  };
  range.addEventListener("input", () => take(list[range.value]), { signal });
  range.addEventListener(
    "keydown",
    step(ALONG, () => now),
    { signal },
  );
  typed.addEventListener(
    "keydown",
    step(UP_AND_DOWN, () => (typed.value === "" ? now : Number(typed.value))),
    { signal },
  );
  typed.addEventListener(
    "keydown",
    ({ key }) => {
      if (key !== "Escape") return;
      if (typed.ariaInvalid === "true") wrong(null);
      show(now, rule);
    },
    { signal },
  );
  typed.addEventListener(
    "change",
    () => {
      const size = Number(typed.value);
      const fits =
        typed.value !== "" && (!whole || Number.isInteger(size)) && size >= min && size <= max;
      if (fits) return take(size);
      typed.setAttribute("aria-invalid", "true");
      const inside = typed.value === "" ? now : clamp(whole ? Math.round(size) : size, min, max);
      const near = rule ? nearest(rule, inside) : inside;
      return wrong(`${label} must be a ${whole ? "whole " : ""}number from ${min} to ${max}.`, [
        [`${label} = ${near}`, () => take(near)],
      ]);
    },
    { signal },
  );
  show(value);
  const node = el("div", { class: "mhsa-dial" }, el("label", { for: id }, label), range, typed);
  return { node, show };
}
