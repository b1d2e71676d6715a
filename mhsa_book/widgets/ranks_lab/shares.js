// @ts-check
// What each of several ranks holds of a layer, and what it sends: as mhsa_book.costs.sharing.

/**
 * @typedef {{ d_model: number, n_heads: number, n_kv_heads: number, d_head: number,
 *   tokens: number, d_latent: number, d_rope: number }} Layer
 */
/** @typedef {{ matrices: number, kept: number, sent: Record<string, number> }} Share */

export const BY_HEADS = "heads";
export const EXCHANGED = "tokens, heads exchanged";
export const ROUND = "tokens, keys go round";
export const CUTS = [BY_HEADS, EXCHANGED, ROUND];
export const KEYS = ["a head of keys each", "grouped", "latent"];
export const MOST_RANKS = 64;
const ITEMSIZE = 2;

/** The layer of a model with keys as chosen. @type {(sizes: Layer, keys: string) => Layer} */
export const layerOf = (sizes, keys) => ({
  ...sizes,
  n_kv_heads: keys === KEYS[0] ? sizes.n_heads : sizes.n_kv_heads,
  d_latent: keys === "latent" ? sizes.d_latent : 0,
  d_rope: keys === "latent" ? sizes.d_rope : 0,
});

/** Learned numbers, by matrix. @type {(layer: Layer) => Record<string, number>} */
export function matricesOf({ d_model, n_heads, n_kv_heads, d_head, d_latent, d_rope }) {
  const [wide, narrow] = [d_model * n_heads * d_head, d_model * n_kv_heads * d_head];
  if (!d_latent) return { W_Q: wide, W_K: narrow, W_V: narrow, W_O: wide };
  return {
    W_Q: d_model * n_heads * (d_head + d_rope),
    W_DKV: d_model * (d_latent + d_rope),
    norms: d_latent,
    W_UK: n_heads * d_latent * d_head,
    W_UV: n_heads * d_latent * d_head,
    W_O: wide,
  };
}

/** Of how many parts of a matrix a rank holds one. @type {(layer: Layer, name: string,
 *   ranks: number) => number} */
export function partsOf({ n_kv_heads }, name, ranks) {
  if (name === "W_DKV" || name === "norms") return 1;
  return name === "W_K" || name === "W_V" ? Math.min(ranks, n_kv_heads) : ranks;
}

/** Numbers that a token leaves for others to look at. @type {(layer: Layer) => number} */
export const keptOf = ({ n_kv_heads, d_head, d_latent, d_rope }) =>
  d_latent ? d_latent + d_rope : 2 * n_kv_heads * d_head;

/** @type {(layer: Layer, cut: string, ranks: number) => Share} */
export function shareOf(layer, cut, ranks) {
  const { d_model, n_heads, n_kv_heads, d_head, tokens, d_latent } = layer;
  const [all, kept] = [matricesOf(layer), keptOf(layer)];
  const [n, block] = [tokens * ITEMSIZE, (tokens / ranks) * ITEMSIZE];
  if (cut === BY_HEADS) {
    const held = Object.entries(all).map(([name, size]) => size / partsOf(layer, name, ranks));
    return {
      matrices: ITEMSIZE * held.reduce((sum, one) => sum + one, 0),
      kept: (n * kept) / (d_latent ? 1 : Math.min(ranks, n_kv_heads)),
      sent: { "sum of y": (2 * (ranks - 1) * n * d_model) / ranks },
    };
  }
  const matrices = ITEMSIZE * Object.values(all).reduce((sum, one) => sum + one, 0);
  if (cut === ROUND) {
    const passed = d_latent ? "latents" : "k and v";
    return { matrices, kept: block * kept, sent: { [passed]: (ranks - 1) * block * kept } };
  }
  /** @type {(width: number) => number} */
  const handed = (width) => (block * width * (ranks - 1)) / ranks;
  const width = n_heads * d_head;
  const sent = { q: handed(width), "k and v": handed(kept), z: handed(width) };
  return { matrices, kept: block * kept, sent };
}

/** What so many ranks cannot share evenly, or nothing. @type {(layer: Layer, cut: string,
 *   ranks: number) => string} */
export function unevenOf({ n_heads, n_kv_heads, tokens, d_latent }, cut, ranks) {
  const keys = d_latent ? n_heads : n_kv_heads;
  const copied = cut === BY_HEADS && ranks % keys === 0;
  if (cut !== ROUND && n_heads % ranks) return `n_heads=${n_heads}`;
  if (cut !== ROUND && keys % ranks && !copied) return `n_kv_heads=${keys}`;
  return cut !== BY_HEADS && tokens % ranks ? `tokens=${tokens}` : "";
}

/** @type {(layer: Layer, cut: string) => number[]} */
export const possibleRanks = (layer, cut) =>
  Array.from({ length: MOST_RANKS }, (_, i) => i + 1).filter((n) => !unevenOf(layer, cut, n));

/** Why they cannot share the layer, or nothing. @type {(layer: Layer, cut: string,
 *   ranks: number) => string} */
export function refusedOf(layer, cut, ranks) {
  if (cut === EXCHANGED && layer.d_latent) {
    return "a latent belongs to all heads and cannot be exchanged by heads.";
  }
  const uneven = unevenOf(layer, cut, ranks);
  return uneven && `${ranks} ranks cannot share ${uneven} evenly.`;
}
