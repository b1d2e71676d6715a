// @ts-check
// What is shown of a model's attention: the weights that are left, their tokens and measures, and
// which head is which.

import { bytes, upTo } from "../shared/numbers.js";
import { kept, pick } from "./head_filters.js";
import { measuring, unpack } from "./measures.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Token } from "./measures.js" */
/** @import { Name } from "./head_thumbnails.js" */
/**
 * Attention as Python sends it: 16-bit weights (layer, head, query, key) and tokens.
 * @typedef {{ shape: number[], tokens: string[], keys: string[], weights: string | DataView }}
 *   Attention
 */
/** @typedef {ReturnType<typeof sift>} Seen */
/** @typedef {ReturnType<typeof headsIn>} Heads */
/** All that is drawn from. @typedef {{ seen: Seen, names: Name[] }} Shown */

/** All weights, and a name for each head. @param {Attention} attention */
export function unpacked({ shape: [layers, columns], weights }) {
  /** @type {(i: number) => Name} */
  const name = (i) => {
    const [layer, head] = [Math.floor(i / columns), i % columns];
    return { layer, head, short: `L${layer}H${head}`, long: `layer ${layer}, head ${head}` };
  };
  return { weights: unpack(bytes(weights)), names: upTo(layers * columns).map(name) };
}

/**
 * Without the hidden tokens; if nothing would be left, with all.
 * @param {Attention} attention @param {Float64Array} weights @param {string[]} hidden
 * @param {boolean} renormalise
 */
export function sift({ shape, tokens, keys }, weights, hidden, renormalise) {
  let [rows, columns] = [kept(tokens, hidden), kept(keys, hidden)];
  const nothing = !rows.length || !columns.length;
  if (nothing) [rows, columns] = [kept(tokens, []), kept(keys, [])];
  const less = rows.length < shape[2] || columns.length < shape[3];
  const left = pick(weights, shape, rows, columns, less && renormalise);
  /** @type {(places: number[], names: string[]) => Token[]} */
  const named = (places, names) => places.map((at) => ({ at, token: names[at] }));
  const size = rows.length * columns.length;
  return {
    nothing,
    divided: less && renormalise,
    rows,
    columns,
    weights: left,
    /** @type {(head: number) => Float64Array} */
    weightsOf: (head) => left.subarray(head * size, (head + 1) * size),
    measuresOf: measuring(left, rows.length, columns.length),
    queries: named(rows, tokens),
    keys: named(columns, keys),
  };
}

/**
 * Which head is chosen, and which stands beside it, counted through all layers.
 * @param {Model} model
 */
export function headsIn(model) {
  /** @type {(place: [layer: number, head: number]) => number} */
  const index = ([layer, head]) => layer * model.get("attention").shape[1] + head;
  const current = () => index([model.get("layer"), model.get("head")]);
  const compared = () => (model.get("compared") ? index(model.get("compared")) : null);
  const twin = () => (compared() === current() ? null : compared());
  return { current, compared, twin };
}
