// @ts-check
// One query on its way through the tiles: what it keeps, and how a larger score corrects it.

import { el } from "../shared/elements.js";
import { tableHead } from "../shared/tables.js";
import { valueOf } from "./online.js";

/** @import { Round } from "./online.js" */

const MOST_TERMS = 4;

/** At most four decimals, and only those that count. @type {(x: number) => string} */
export const plain = (x) => `${Number(x.toFixed(4))}`;

/** Terms of a sum, where they are few. @type {(terms: string[], sum: number) => string} */
function termsOf(terms, sum) {
  if (terms.length > MOST_TERMS) return `${terms.length} terms, ${plain(sum)}`;
  return terms.length === 1 ? terms[0] : `${terms.join(" + ")} = ${plain(sum)}`;
}

/** @type {(name: string, ...cells: string[]) => HTMLElement} */
const line = (name, ...cells) =>
  el(
    "tr",
    {},
    el("th", { scope: "row" }, name),
    cells.map((text) => el("td", {}, text)),
  );

/** @type {(round: Round) => HTMLElement} */
export function runningTable({ before, keys, powers, keep, added, after }) {
  const seen = keys
    .map((key, i) => ({ value: valueOf(key), power: powers[i] }))
    .filter((one) => one.power);
  const few = seen.length <= MOST_TERMS;
  const largest = Math.max(...powers);
  const names = few ? seen.map(({ power }) => `ln ${power}`).join(", ") : `up to ln ${largest}`;
  const totals = seen.map(({ power }) => `${power}/${after.largest}`);
  const sums = seen.map(({ power, value }) => `${power}/${after.largest} · ${value}`);
  /** @type {(old: number, more: number, now: number) => string} */
  const corrected = (old, more, now) =>
    `${plain(keep)} · ${plain(old)} + ${plain(more)} = ${plain(now)}`;
  const rows = [
    line(
      "largest score",
      before.largest ? `ln ${before.largest}` : "−∞",
      names,
      `ln ${after.largest}`,
    ),
    line(
      "total",
      plain(before.total),
      termsOf(totals, added.total),
      corrected(before.total, added.total, after.total),
    ),
    line(
      "sum of values",
      plain(before.sum),
      termsOf(sums, added.sum),
      corrected(before.sum, added.sum, after.sum),
    ),
    line(
      "z = sum / total",
      before.total ? plain(before.sum / before.total) : "",
      "",
      plain(after.sum / after.total),
    ),
  ];
  const about = { class: "mhsa-running", "aria-label": "What one query keeps" };
  const head = tableHead(["one query", "before", "this tile", "after"], () => false);
  return el("table", about, head, el("tbody", {}, rows));
}

/** What happens to what was there. @type {(round: Round, query: number) => string} */
export function keepInWords({ before, after, keep }, query) {
  const who = `Query ${query}: `;
  if (before.largest === 0) return `${who}its first tile. Nothing was there before, so keep is 0.`;
  const factor = `keep = e to the (ln ${before.largest} − ln ${after.largest})`;
  if (keep === 1) return `${who}no larger score, keep is 1: what was there stays.`;
  const ratio = `${before.largest}/${after.largest} = ${plain(keep)}`;
  return `${who}a larger score. ${factor} = ${ratio} shrinks what was there.`;
}
