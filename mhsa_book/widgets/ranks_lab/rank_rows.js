// @ts-check
// What a rank holds, as parts of wholes, and what is sent between: the rows of the picture.

import { upTo } from "../shared/numbers.js";
import { BY_HEADS, EXCHANGED } from "./shares.js";

/** @import { Layer } from "./shares.js" */
/**
 * A whole of `count` things, of which a rank holds those from `first` up to `end`; `copy` where a
 * rank before it holds the same.
 * @typedef {{ first: number, end: number, count: number, copy: boolean }} Part
 */
/** A row of parts, one for each rank, or a lane in which something is sent.
 * @typedef {{ name: string, parts?: Part[], lane?: string }} Row
 */

/** @type {(count: number, ranks: number) => Part[]} */
const cutUp = (count, ranks) =>
  upTo(ranks).map((rank) => ({
    first: (rank * count) / ranks,
    end: ((rank + 1) * count) / ranks,
    count,
    copy: false,
  }));

/** Cut up as far as it goes, then copied. @type {(count: number, ranks: number) => Part[]} */
function copied(count, ranks) {
  if (ranks <= count) return cutUp(count, ranks);
  const sharing = ranks / count;
  return upTo(ranks).map((rank) => {
    const first = Math.floor(rank / sharing);
    return { first, end: first + 1, count, copy: rank % sharing > 0 };
  });
}

/** @type {(layer: Layer, cut: string, ranks: number) => Row[]} */
export function rowsOfRanks({ n_heads, n_kv_heads, tokens, d_latent }, cut, ranks) {
  const block = cutUp(tokens, ranks);
  const heads = cutUp(n_heads, ranks);
  /** @type {(count: number) => Part[]} */
  const whole = (count) =>
    upTo(ranks).map((rank) => ({ first: 0, end: count, count, copy: rank > 0 }));
  /** All heads, of the rank's own tokens. @type {(count: number) => Part[]} */
  const ofOwnTokens = (count) =>
    upTo(ranks).map(() => ({ first: 0, end: count, count, copy: false }));
  if (cut === BY_HEADS) {
    const keys = copied(n_kv_heads, ranks);
    const made = d_latent
      ? [
          { name: "W_DKV", parts: whole(1) },
          { name: "latents", parts: whole(tokens) },
          { name: "W_UK, W_UV", parts: heads },
        ]
      : [
          { name: "W_K, W_V", parts: keys },
          { name: "heads of keys", parts: keys },
        ];
    return [
      { name: "tokens of x", parts: whole(tokens) },
      { name: "W_Q", parts: heads },
      { name: "query heads", parts: heads },
      ...made,
      { name: "W_O", parts: heads },
      { name: "sum of y", lane: "sum" },
      { name: "tokens of y", parts: whole(tokens) },
    ];
  }
  const first = [
    { name: "tokens of x", parts: block },
    { name: "all matrices", parts: whole(1) },
    { name: "query heads", parts: ofOwnTokens(n_heads) },
  ];
  const last = { name: "tokens of y", parts: block };
  if (cut === EXCHANGED) {
    return [
      ...first,
      { name: "heads of keys", parts: ofOwnTokens(n_kv_heads) },
      { name: "all-to-all: q, k, v", lane: "exchange" },
      { name: "in attend: queries", parts: heads },
      { name: "in attend: keys", parts: cutUp(n_kv_heads, ranks) },
      { name: "all-to-all: z", lane: "exchange" },
      last,
    ];
  }
  const keys = d_latent
    ? { name: "latents", parts: block }
    : { name: "heads of keys", parts: ofOwnTokens(n_kv_heads) };
  const passed = d_latent ? "going round: latents" : "going round: k and v";
  return [...first, keys, { name: passed, lane: "round" }, last];
}
