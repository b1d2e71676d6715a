// What attention costs, by formula: the numbers of mhsa_lib.costs, .configurations and .roofline.

/** Widths of all heads side by side, of the queries and of the keys. */
export const headWidths = ({ n_heads, n_kv_heads, d_head }) => ({
  d_heads: n_heads * d_head,
  d_kv_heads: n_kv_heads * d_head,
});

/** Learned numbers of the four projections of one layer; `biases` names those that have one. */
export function layerParameters({ d_model, biases, ...heads }) {
  const { d_heads, d_kv_heads } = headWidths(heads);
  const map = (letter, rows, columns) => rows * columns + (biases.includes(letter) ? columns : 0);
  return {
    W_Q: map("Q", d_model, d_heads),
    W_K: map("K", d_model, d_kv_heads),
    W_V: map("V", d_model, d_kv_heads),
    W_O: map("O", d_heads, d_model),
  };
}

/** Bytes of the keys and values of all layers. */
export const cacheBytes = ({ layers, n_kv_heads, d_head }, n_key, batch, itemsize) =>
  2 * layers * batch * n_key * n_kv_heads * d_head * itemsize;

/** FLOPs and bytes of each stage of one layer: `n_query` new tokens look at `n_key`. */
export function stageWork(
  { d_model, ...heads },
  { n_query, n_key, batch, itemsize, cache_itemsize, fused },
) {
  const { d_heads, d_kv_heads } = headWidths(heads);
  const tokens = batch * n_query;
  const [q, x] = [tokens * d_heads * itemsize, tokens * d_model * itemsize];
  const new_kv = 2 * tokens * d_kv_heads * cache_itemsize;
  const all_kv = 2 * batch * n_key * d_kv_heads * cache_itemsize;
  const table = fused ? 0 : batch * heads.n_heads * n_query * n_key * itemsize;
  const W_QKV = d_model * (d_heads + 2 * d_kv_heads);
  const W_O = d_heads * d_model;
  const stage = (flops, moved) => ({ flops, bytes: moved, intensity: flops / moved });
  return {
    project: stage(2 * tokens * W_QKV, W_QKV * itemsize + x + q + new_kv),
    "scores + mix": stage(4 * tokens * n_key * d_heads, 2 * q + all_kv + 4 * table),
    W_O: stage(2 * tokens * W_O, W_O * itemsize + q + x),
  };
}

/** Bytes of the wires of one layer that are not cached: q, z, concat, y, and unfused the table. */
export function activationBytes(
  { d_model, n_heads, d_head },
  { n_query, n_key, batch, itemsize, fused },
) {
  const rows = batch * n_query * itemsize;
  return rows * (3 * n_heads * d_head + d_model) + (fused ? 0 : 2 * rows * n_key * n_heads);
}

/** Where a stage meets the roof of an accelerator, and the least time it takes. */
export function underRoof({ flops, bytes: moved, intensity }, peak, bandwidth) {
  const ridge = peak / bandwidth;
  return {
    ridge,
    attainable: Math.min(peak, intensity * bandwidth),
    seconds: Math.max(flops / peak, moved / bandwidth),
    limit: intensity < ridge ? "memory" : "arithmetic",
  };
}

export const NUMBER_BYTES = { float32: 4, bfloat16: 2, float16: 2, int8: 1 };
export const PHASES = ["prefill", "decode"];
export const VARIANTS = ["MHA", "as configured", "MQA"];

/** Key-value heads of a variant of a model. */
export const kvHeads = ({ n_heads, n_kv_heads }, variant) =>
  ({ MHA: n_heads, "as configured": n_kv_heads, MQA: 1 })[variant];

/** What sharing keys among so many heads is called. */
export function kindOf(n_heads, n_kv_heads) {
  if (n_kv_heads === n_heads) return "MHA";
  return n_kv_heads === 1 ? "MQA" : "GQA";
}

/** Every number of the figure for a choice of model, accelerator and sizes. */
export function costOf({
  model,
  accelerator,
  variant,
  phase,
  context,
  batch,
  dtype,
  cache_dtype,
  fused,
}) {
  const shared = { ...model, n_kv_heads: kvHeads(model, variant) };
  const [itemsize, cache_itemsize] = [NUMBER_BYTES[dtype], NUMBER_BYTES[cache_dtype]];
  const tokens = (name) => ({
    n_query: name === "prefill" ? context : 1,
    n_key: context,
    batch,
    itemsize,
    cache_itemsize,
    fused,
  });
  const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
  const peak = accelerator.peak[dtype] ?? null;
  const stages = PHASES.flatMap((name) =>
    Object.entries(stageWork(shared, tokens(name))).map(([stage, work]) => ({
      phase: name,
      stage,
      ...work,
      ...(peak && underRoof(work, peak, accelerator.bandwidth)),
    })),
  );
  return {
    peak,
    stages,
    weights: model.layers * sum(layerParameters(shared)) * itemsize,
    activations: activationBytes(shared, tokens(phase)),
    caches: Object.fromEntries(
      VARIANTS.map((name) => [
        name,
        cacheBytes({ ...model, n_kv_heads: kvHeads(model, name) }, context, batch, cache_itemsize),
      ]),
    ),
  };
}

/** What moving `n_heads` at constant n_heads · d_head changes, beside one head of that width. */
export function headBudget({ d_model, n_heads, d_head, seq }) {
  const d_heads = n_heads * d_head;
  const row = (name, one, now) => ({ name, one, now });
  const maps = 4 * d_model * d_heads;
  return [
    row("parameters of W_Q, W_K, W_V, W_O", maps, maps),
    row("FLOPs of the four projections", 2 * seq * maps, 2 * seq * maps),
    row("FLOPs of scores and mix", 4 * seq * seq * d_heads, 4 * seq * seq * d_heads),
    row("columns of x that a head reads", d_model, d_model),
    row("distributions for each query", 1, n_heads),
    row(
      "directions in which a score compares, at most",
      Math.min(d_model, d_heads),
      Math.min(d_model, d_head),
    ),
    row("numbers in weights", seq * seq, n_heads * seq * seq),
  ];
}

/** "same", "× 8" or "÷ 8". */
export function change(one, now) {
  if (one === now) return "same";
  const plain = (ratio) => Number(ratio.toPrecision(3)).toLocaleString("en-US");
  return now > one ? `× ${plain(now / one)}` : `÷ ${plain(one / now)}`;
}

/** Bytes in three digits with a binary prefix. */
export function binary(count) {
  let [size, prefix] = [count, 0];
  while (size >= 1023.5 && prefix < 6) [size, prefix] = [size / 1024, prefix + 1];
  return `${Number(size.toPrecision(size < 1000 ? 3 : 4))} ${["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][prefix]}`;
}

/** A position on a logarithmic axis, kept inside it. */
export function logScale(low, high, from, to) {
  const share = (value) => Math.log(value / low) / Math.log(high / low);
  return (value) => from + (to - from) * Math.min(1, Math.max(0, share(value)));
}
