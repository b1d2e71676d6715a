// @ts-check
// What is said of the head and the weight in question.

import { el } from "../shared/elements.js";
import { fixed, total } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { agreement } from "./measures.js";
import { about, exact, sentence, strongestItems } from "./words.js";

/** @import { Heads, Shown } from "./shown_weights.js" */

/**
 * What the marked weight says, alone and beside others; `draw` hears its row and its column.
 * @param {Heads} heads @param {() => Shown} shown
 */
export function headWords(heads, shown) {
  const [title, list, said] = [el("p"), el("ol"), spoken()];
  /** The same weight in the other head. @type {(at: number, j: number) => string} */
  function beside(at, j) {
    const { seen, names } = shown();
    const { weights, weightsOf, rows, columns } = seen;
    const like = agreement(weights, heads.current(), j, rows.length, columns.length);
    const agree = `Over all queries the two agree to ${fixed(like)} of 1.`;
    return ` In ${names[j].short}: ${exact(weightsOf(j)[at])}. ${agree}`;
  }
  /** @type {(row: number, column: number, byKey: boolean) => void} */
  function draw(row, column, byKey) {
    const { seen, names } = shown();
    const { queries, keys, divided } = seen;
    const [query, key] = [queries[row].token, keys[column].token];
    const [a, n, j] = [seen.weightsOf(heads.current()), keys.length, heads.twin()];
    const ofRow = [...a.subarray(row * n, (row + 1) * n)];
    const line = byKey ? queries.map((_, i) => a[i * n + column]) : ofRow;
    title.textContent = about(byKey, query, key, line);
    const items = strongestItems(line, byKey ? queries : keys, byKey ? row : column);
    list.replaceChildren(...items);
    const start = names.length === 1 ? "" : `${names[heads.current()].short}: `;
    const at = row * n + column;
    const whole = divided ? "what is left of its weight" : "its weight";
    const says = sentence(a[at], query, key, total(ofRow), whole);
    said.say(`${start}${says}${j === null ? "" : beside(at, j)}`);
  }
  return { nodes: [title, list, said.node], draw };
}
