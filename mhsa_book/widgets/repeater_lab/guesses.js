// @ts-check
// What the model expects, in words and as a table.

import { el } from "../shared/elements.js";
import { fixed } from "../shared/numbers.js";
import { numberCell, tableHead } from "../shared/tables.js";
import { largest } from "./model.js";
import { tokenName, tokenSign } from "./texts.js";

/** @import { HeadAt } from "./model.js" */
/**
 * What is shown: a text as ids, what is expected after each token, now and with all heads on, the
 * chosen token, the head drawn large and what it looks at from there.
 * @typedef {{ alphabet: string, ids: number[], now: number[][], whole: number[][],
 *   position: number, head: HeadAt, looks: number[], off: HeadAt[] }} Shown
 */

const TOP = 5;

/** @type {(head: HeadAt) => string} */
export const headName = ([layer, head]) => `L${layer}H${head}`;

/**
 * How many of the tokens that follow were the model's first guess.
 * @type {(ids: number[], probabilities: number[][]) => number}
 */
export function hits(ids, probabilities) {
  return ids.slice(1).filter((id, i) => largest(probabilities[i], 1)[0] === id).length;
}

/**
 * The most probable next tokens after the chosen one, beside those with all heads on.
 * @type {(shown: Shown) => HTMLElement[]}
 */
export function expected({ alphabet, ids, now, whole, position }) {
  const [after, before] = [now[position], whole[position]];
  const follows = ids[position + 1];
  const guesses = [...new Set([...largest(after, TOP), ...largest(before, 1)])];
  /** @type {(id: number) => HTMLElement} */
  const bar = (id) => {
    const probability = el("span", { style: `width:${100 * after[id]}%` });
    const mark = el("i", { style: `left:${100 * before[id]}%` });
    return el("td", { class: "mhsa-bar" }, el("div", {}, probability, mark));
  };
  const rows = guesses.map((id) => {
    const hit = id === follows ? el("span", { class: "mhsa-hit" }, " ✓") : null;
    const name = el("th", { scope: "row" }, tokenSign(alphabet, id), hit);
    const numbers = [after[id], before[id]].map((chance) => numberCell(fixed(chance)));
    return el("tr", {}, name, bar(id), numbers);
  });
  const last = position === ids.length - 1;
  const token = `token ${position}, ${tokenName(alphabet, ids[position])}`;
  const caption = last ? "What comes next" : `What was expected after ${token}`;
  const head = tableHead(["next", "", "now", "all on"], (i) => i > 1);
  return [
    el("p", { class: "mhsa-title" }, caption),
    el("table", { "aria-label": caption }, head, el("tbody", {}, rows)),
  ];
}

/** The whole figure in a few sentences. @type {(shown: Shown) => string} */
export function summed({ alphabet, ids, now, whole, position, head, looks, off }) {
  /** @type {(id: number) => string} */
  const spell = (id) => tokenName(alphabet, id);
  const [guess] = largest(now[position], 1);
  const without = off.length ? `Without ${off.map(headName).join(", ")}` : "With all heads";
  const before = off.length ? ` (with all heads, ${hits(ids, whole)})` : "";
  const right = `${hits(ids, now)} of the ${ids.length - 1} tokens`;
  const seen = largest(looks, 3).filter((k) => looks[k] >= 0.005);
  const places = seen.map((k) => `${spell(ids[k])} at ${k} (${fixed(looks[k])})`);
  return (
    `${without}, ${right} are the model's first guess${before}. `
    + `After token ${position}, ${spell(ids[position])}, it expects ${spell(guess)} `
    + `(${fixed(now[position][guess])}). There ${headName(head)} looks at ${places.join(", ")}.`
  );
}
