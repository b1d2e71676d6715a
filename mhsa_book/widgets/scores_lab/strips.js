// @ts-check
// A line for every rule: a bar for each key on one fixed scale, and what they sum to.

import { el } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { ticksAt } from "./row.js";
import { TAU } from "./rules.js";

/** @import { Rule } from "./rules.js" */
/** @typedef {{ on: number, others: number, sum: number, handed: number, moved: string }} Told */

const LOWEST = { minus: -0.5 };

/** @type {Record<Rule, [title: string, what: string]>} */
export const NAMES = {
  softmax: ["softmax", "shares out 1"],
  norm: ["QK-norm", "the factor is gone"],
  clip: ["QK-clip", `largest score ≤ τ = ${TAU}`],
  sigmoid: ["sigmoid", "key by key, bias −ln n"],
  minus: ["difference", "softmax − λ · flat map"],
  sink: ["learned sink", "one more key s, no value"],
  gate: ["gate", "hands over g times that"],
};

/** @type {Record<keyof Told, string>} */
const COLUMNS = {
  on: "chosen key",
  others: "other keys",
  sum: "sum",
  handed: "hands over",
  moved: "others are",
};

/** A bar from 0 to its value, in shares of the height. @param {number} low */
function barOf(low) {
  const bar = el("div", { class: "mhsa-bar" });
  const was = el("div", { class: "mhsa-was" });
  const node = el("div", { class: "mhsa-column" }, bar, was);
  /** @type {(value: number) => number} */
  const up = (value) => (100 * (value - low)) / (1 - low);
  /** `before` is where it was before a key came or went. @type {(v: number, b?: number) => void} */
  function draw(value, before) {
    bar.style.bottom = `${up(Math.min(0, value))}%`;
    bar.style.height = `${up(Math.abs(value)) - up(0)}%`;
    bar.classList.toggle("mhsa-negative", value < 0);
    was.hidden = before === undefined;
    was.style.bottom = `${up(before ?? 0)}%`;
  }
  return { node, draw };
}

/**
 * @param {Rule} rule @param {number} n keys @param {HTMLElement | null} dial of its number
 */
function lineOf(rule, n, dial) {
  const low = rule === "minus" ? LOWEST.minus : 0;
  const bars = Array.from({ length: n }, () => barOf(low));
  const [title, what] = NAMES[rule];
  const style = `height:${3 * (1 - low)}rem;--mhsa-floor:${(100 * -low) / (1 - low)}%`;
  const about = { class: "mhsa-strip", role: "img", style };
  const scale = ticksAt([low, 0, 1], (value) => (value - low) / (1 - low));
  const strip = el(
    "div",
    about,
    bars.map(({ node }) => node),
    scale,
  );
  const cells = Object.entries(COLUMNS).map(([name, label]) => ({
    name: /** @type {keyof Told} */ (name),
    cell: el("td", { class: "mhsa-number", role: "cell", "data-label": label }),
  }));
  const name = el("th", { scope: "row", role: "rowheader" }, el("b", {}, title));
  name.append(el("span", { class: "mhsa-quiet" }, what), dial ?? "");
  const node = el("tr", { role: "row" }, name, el("td", { role: "cell" }, strip));
  node.append(...cells.map(({ cell }) => cell));

  /** @type {(weights: number[], before: number[] | null, told: Told) => void} */
  function draw(weights, before, told) {
    weights.forEach((weight, k) => bars[k].draw(weight, before?.[k]));
    strip.setAttribute("aria-label", `weights: ${weights.map((w) => fixed(w)).join(", ")}`);
    for (const { name, cell } of cells) {
      const value = told[name];
      cell.textContent = typeof value === "number" ? fixed(value, 3) : value;
    }
  }
  return { node, draw };
}

/**
 * @param {Rule[]} rules @param {number} n keys
 * @param {Partial<Record<Rule, HTMLElement>>} dials
 * @param {HTMLElement} top the scores, above all bars
 */
export function stripsOf(rules, n, dials, top) {
  const lines = rules.map((rule) => lineOf(rule, n, dials[rule] ?? null));
  const titles = Object.values(COLUMNS).map((label) =>
    el("th", { scope: "col", role: "columnheader", class: "mhsa-number" }, label),
  );
  const name = el("th", { scope: "col", role: "columnheader" }, "scores, and weights by rule");
  const scores = el("th", { scope: "col", role: "columnheader" }, top);
  const head = el("tr", { role: "row" }, name, scores, titles);
  const node = el(
    "table",
    { role: "table", "aria-label": "rules" },
    el("thead", { role: "rowgroup" }, head),
    el(
      "tbody",
      { role: "rowgroup" },
      lines.map((line) => line.node),
    ),
  );
  return { node, lines };
}
