// @ts-check
// The shape of every wire from its symbolic axes: the same ledger that `trace` keeps, for sizes
// that a reader chooses. The recipe (axes, view or new memory, the axis each product sums over)
// is read off a trace of the real module; nothing here knows what attention is.

/** @import { Sizes } from "../shared/size_rules.js" */

/**
 * One wire of the recipe: FLOPs come from `terms`, or from the axis that its product `sums` over.
 * @typedef {{ wire: string, axes: string[], result: string, view_at_one: string[], sums?: string,
 *   weight?: string, terms?: number[], learned?: number }} Line
 */
/** @typedef {ReturnType<typeof ledger>[number]} Row */

/**
 * The size of every axis, from the sizes a reader sets; d_head null means d_model / n_heads.
 * `fixed` holds the sizes of an attention that was built: then batch and seq are free.
 * @type {(sizes: Sizes, fixed?: Record<string, number>) => Record<string, number>}
 */
export function axisSizes({ batch, seq, d_model, n_heads, n_kv_heads, d_head }, fixed = {}) {
  if ("head" in fixed) return { batch, query: seq, key: seq, ...fixed };
  const width = d_head ?? d_model / n_heads;
  return {
    batch,
    query: seq,
    key: seq,
    head: n_heads,
    kv_head: n_kv_heads,
    d_model,
    d_head: width,
    d_heads: n_heads * width,
    d_kv_heads: n_kv_heads * width,
  };
}

/**
 * One row per wire: sizes by axis, elements, bytes, FLOPs and learned numbers.
 * @param {Line[]} recipe
 * @param {Record<string, number>} sizes
 * @param {number} itemsize
 */
export function ledger(recipe, sizes, itemsize) {
  return recipe.map(({ wire, axes, result, view_at_one, sums, weight, terms, learned }) => {
    const shape = axes.map((axis) => sizes[axis]);
    const elements = shape.reduce((a, b) => a * b, 1);
    const product = sums ? 2 * elements * sizes[sums] : 0;
    const columns = weight && sums ? sizes[sums] * shape[shape.length - 1] : 0;
    return {
      wire,
      axes,
      shape,
      weight,
      elements,
      result: view_at_one.some((axis) => sizes[axis] === 1) ? "view" : result,
      bytes: elements * itemsize,
      flops: terms ? polynomial(terms, sizes) : product,
      parameters: learned ?? columns,
    };
  });
}

/**
 * FLOPs of a wire: a constant, and per sequence a part that grows with n and one with n².
 * @type {(terms: number[], sizes: Record<string, number>) => number}
 */
const polynomial = ([constant, n, square], { batch, query }) =>
  constant + batch * (n * query + square * query ** 2);

/** What all wires cost together; a view needs no memory of its own. @param {Row[]} rows */
export function totals(rows) {
  /** @type {(pick: (row: Row) => number) => number} */
  const sum = (pick) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    parameters: sum((row) => row.parameters),
    flops: sum((row) => row.flops),
    bytes: sum((row) => (row.result === "new memory" ? row.bytes : 0)),
  };
}
