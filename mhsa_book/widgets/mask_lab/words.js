// @ts-check
// What the mask lab says about a mask and about the mistakes that can be made with it.

import { countAllowed, emptyRows, leak } from "./rules.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Mask } from "./rules.js" */

/**
 * What the picture shows, in a sentence or two.
 * @type {(kind: string, mask: Mask, tokens: string[]) => string}
 */
export function described(kind, mask, tokens) {
  const empty = emptyRows(mask).map((query) => `“${tokens[query]}”`);
  const pairs = `Mask ${kind}: ${countAllowed(mask)} of ${mask.length ** 2} pairs may look.`;
  if (empty.length === 0) return `${pairs} Every query has a key.`;
  return `${pairs} ${empty.join(", ")} ${empty.length === 1 ? "looks" : "look"} at nothing.`;
}

/**
 * What an implementation gives the empty row of n keys, as a reader sees it.
 * @type {(weights: string, n: number) => string}
 */
export function answered(weights, n) {
  if (weights === "zeros") return "all 0";
  if (weights === "NaN") return "all NaN";
  return weights === "equal" ? `all 1/${n}, forbidden keys too` : "something else";
}

/** What happens when each API gets the mask of the other. @type {(opposite: Mask) => string} */
export function swapped(opposite) {
  const left = emptyRows(opposite).length;
  if (left === opposite.length) return "No error, and no query is left with anything.";
  const rest = left
    ? ` ${left} of ${opposite.length} queries ${left === 1 ? "is" : "are"} left with nothing.`
    : "";
  return `No error. All weight lies on forbidden pairs.${rest}`;
}

/**
 * What happens when a mask of 1 and 0 is added to the scores.
 * @type {(weights: Matrix, mask: Mask) => string}
 */
export function leaking(weights, mask) {
  const share = Math.round(100 * leak(weights, mask));
  return `No error, and nothing is forbidden: ${share} % of the weight lies on forbidden pairs.`;
}

/** A reader's token as a label: never empty, never long. @type {(token: string) => string} */
export const named = (token) =>
  token.length > 12 ? `${token.slice(0, 11)}…` : token.trim() || "(blank)";
