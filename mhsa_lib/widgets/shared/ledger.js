// The shape of every wire from its symbolic axes: the same ledger that `trace` keeps, for sizes
// that a reader chooses. The recipe (axes, view or copy, the axis each product sums over) is read
// off a trace of the real module; nothing here knows what attention is.

/**
 * The size of every axis, from the sizes a reader sets; d_head null means d_model / n_heads.
 * `fixed` holds the sizes of an attention that was built: then batch and seq are free.
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

/** Why these sizes do not go together, with a repair, in the words of mhsa_lib.checks; or null. */
export function wrongSizes({ d_model, n_heads, n_kv_heads, d_head }) {
  if (d_head === null && d_model % n_heads) {
    const below = d_model - (d_model % n_heads);
    const options = [below, below + n_heads]
      .filter((size) => size)
      .map((size) => `d_model=${size}`);
    return (
      `n_heads=${n_heads} does not divide d_model=${d_model}; `
      + `try ${options.join(" or ")}, or set d_head.`
    );
  }
  if (n_heads % n_kv_heads) {
    const divisors = Array.from({ length: n_heads }, (_, i) => i + 1).filter(
      (n) => n_heads % n === 0,
    );
    const near = [
      ...divisors.filter((n) => n < n_kv_heads).slice(-1),
      ...divisors.filter((n) => n > n_kv_heads).slice(0, 1),
    ];
    return (
      `n_kv_heads=${n_kv_heads} does not divide n_heads=${n_heads}; `
      + `try ${near.map((n) => `n_kv_heads=${n}`).join(" or ")}.`
    );
  }
  return null;
}

/** One row per wire: sizes by axis, elements, bytes, FLOPs and learned numbers. */
export function ledger(recipe, sizes, itemsize) {
  return recipe.map(({ wire, axes, result, view_at_one, sums, weight, terms, learned }) => {
    const shape = axes.map((axis) => sizes[axis]);
    const elements = shape.reduce((a, b) => a * b, 1);
    return {
      wire,
      axes,
      shape,
      weight,
      elements,
      result: view_at_one.some((axis) => sizes[axis] === 1) ? "view" : result,
      bytes: elements * itemsize,
      flops: terms ? polynomial(terms, sizes) : sums ? 2 * elements * sizes[sums] : 0,
      parameters: learned ?? (weight ? sizes[sums] * shape.at(-1) : 0),
    };
  });
}

/** FLOPs of a wire: a constant, and per sequence a part that grows with n and one with n². */
const polynomial = ([constant, n, square], { batch, query }) =>
  constant + batch * (n * query + square * query ** 2);

/** What all wires cost together; a view needs no memory of its own. */
export function totals(rows) {
  const sum = (pick) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    parameters: sum((row) => row.parameters),
    flops: sum((row) => row.flops),
    bytes: sum((row) => (row.result === "copy" ? row.bytes : 0)),
  };
}
