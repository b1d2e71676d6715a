// @ts-check
// The nine steps of the stepper: what each takes, what it makes, and one sentence about it.

import { AXES } from "./forward.js";

/**
 * A group ends in what it makes; what is no wire is a sign; `heads` means one group per head.
 * @typedef {{ step: string, shared?: string[], heads?: boolean, groups: string[][],
 *   says: string }} Step
 */

/** @type {Step[]} */
export const STEPS = [
  {
    step: "project",
    shared: ["x"],
    groups: [
      ["W_Q", "→", "q"],
      ["W_K", "→", "k"],
      ["W_V", "→", "v"],
    ],
    says:
      "Each row of x times three matrices: what a token asks (q), what it offers (k), what "
      + "it hands over (v).",
  },
  {
    step: "split",
    groups: [
      ["q", "→", "q_heads"],
      ["k", "→", "k_heads"],
      ["v", "→", "v_heads"],
    ],
    says:
      "The columns are dealt out to the heads. No arithmetic: the same numbers under other "
      + "indices.",
  },
  {
    step: "score",
    heads: true,
    groups: [["q_heads", "·", "k_heads", "ᵀ =", "dots"]],
    says: "In every head each query meets each key in a dot product.",
  },
  {
    step: "scale",
    heads: true,
    groups: [["dots", "/ √d_head =", "scores"]],
    says:
      "Each dot product is divided by √d_head. The library divides q before the product: the "
      + "same numbers.",
  },
  {
    step: "mask",
    heads: true,
    shared: ["mask"],
    groups: [["scores", "→", "masked"]],
    says:
      "■ may look, · may not: a forbidden score becomes −∞. Click the cells of mask, or "
      + "press Enter on them.",
  },
  {
    step: "softmax",
    heads: true,
    groups: [["masked", "→", "weights"]],
    says: "Powers of e, each divided by the sum of its row: a row of weights adds up to 1.",
  },
  {
    step: "mix",
    heads: true,
    groups: [["weights", "·", "v_heads", "=", "z"]],
    says: "Each query averages the values with its weights.",
  },
  {
    step: "concat",
    groups: [["z", "→", "concat"]],
    says: "The heads are laid side by side again. No arithmetic: the same numbers, moved.",
  },
  {
    step: "W_O",
    groups: [["concat", "·", "W_O", "=", "y"]],
    says: "The last matrix mixes the columns of all heads into the output.",
  },
];

/** The wires that a step makes. @type {(step: Step) => string[]} */
export const makes = ({ groups }) => groups.map((group) => group[group.length - 1]);

/** The wires and inputs that a step shows. @type {(step: Step) => string[]} */
export const uses = ({ shared = [], groups }) =>
  [...shared, ...groups.flat()].filter((item) => item in AXES);

/**
 * The wires and inputs of all steps before `i` that step `i` does not use itself.
 * @type {(i: number) => string[]}
 */
export function before(i) {
  const [met, now] = [new Set(STEPS.slice(0, i).flatMap(uses)), new Set(uses(STEPS[i]))];
  return Object.keys(AXES).filter((wire) => met.has(wire) && !now.has(wire));
}
