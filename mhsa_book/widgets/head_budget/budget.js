// @ts-check
// What the number of heads changes when n_heads · d_head stays; in numbers and in words.

import { headWidths } from "../shared/costs.js";
import { grouped } from "../shared/numbers.js";

/** @typedef {{ d_model: number, n_heads: number, d_head: number }} Shape */
/** @typedef {ReturnType<typeof headBudget>[number]} Change */

/**
 * What moving `n_heads` at constant n_heads · d_head changes, beside one head of that width.
 * @param {Shape & { seq: number }} sizes
 */
export function headBudget({ d_model, n_heads, d_head, seq }) {
  const { d_heads } = headWidths({ n_heads, n_kv_heads: n_heads, d_head });
  /**
   * @type {(name: string, one: number, now: number) => { name: string, one: number, now: number }}
   */
  const row = (name, one, now) => ({ name, one, now });
  const maps = 4 * d_model * d_heads;
  const scores = 4 * seq * seq * d_heads;
  const directions = [d_heads, d_head].map((width) => Math.min(d_model, width));
  return [
    row("parameters of W_Q, W_K, W_V, W_O", maps, maps),
    row("FLOPs of the four projections", 2 * seq * maps, 2 * seq * maps),
    row("FLOPs of scores and mix", scores, scores),
    row("columns of x that a head reads", d_model, d_model),
    row("distributions for each query", 1, n_heads),
    row("directions in which a score compares, at most", directions[0], directions[1]),
    row("numbers in weights", seq * seq, n_heads * seq * seq),
  ];
}

/** "same", "× 8" or "÷ 8". @type {(one: number, now: number) => string} */
export function change(one, now) {
  if (one === now) return "same";
  /** @type {(ratio: number) => string} */
  const plain = (ratio) => Number(ratio.toPrecision(3)).toLocaleString("en-US");
  return now > one ? `× ${plain(now / one)}` : `÷ ${plain(one / now)}`;
}

/** The whole budget in a few sentences. @type {(sizes: Shape) => string} */
export function budgetSummary({ d_model, n_heads, d_head }) {
  const width = n_heads * d_head;
  const heads = n_heads === 1 ? "1 head" : `${grouped(n_heads)} heads`;
  const parts = [`${heads} of width ${grouped(d_head)} ${n_heads === 1 ? "costs" : "cost"} the `];
  parts.push(`parameters and products of one head of width ${grouped(width)}. `);
  parts.push(distributions({ d_model, n_heads, d_head }));
  if (width !== d_model) {
    const more = change(d_model, width);
    parts.push(` Here n_heads · d_head is ${grouped(width)}, not d_model: `);
    parts.push(`parameters ${more} compared with d_head = d_model / n_heads.`);
  }
  return parts.join("");
}

/** What each query gets for the same price. @type {(sizes: Shape) => string} */
function distributions({ d_model, n_heads, d_head }) {
  if (n_heads === 1) return "Each query gets one distribution.";
  const [now, one] = [d_head, n_heads * d_head].map((most) => grouped(Math.min(most, d_model)));
  const before = now === one ? ", as with one head" : ` instead of ${one}`;
  return (
    `Each query gets ${grouped(n_heads)} distributions instead of 1, `
    + `and each score compares in at most ${now} direction${now === "1" ? "" : "s"}${before}.`
  );
}
