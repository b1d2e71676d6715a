// @ts-check
// Bytes of the ranks in a table, and what they hold and send in sentences.

import { el } from "../shared/elements.js";
import { binary, counted, grouped } from "../shared/numbers.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { BY_HEADS, ROUND, shareOf } from "./shares.js";

/** @import { Layer, Share } from "./shares.js" */

/** @type {(layer: Layer) => string} */
const keptName = ({ d_latent }) => (d_latent ? "latents" : "keys and values");

/** @type {(share: Share) => number} */
const sentOf = ({ sent }) => Object.values(sent).reduce((sum, one) => sum + one, 0);

/** @type {(layer: Layer, cut: string, ranks: number) => HTMLElement} */
export function bytesTable(layer, cut, ranks) {
  const [share, one] = [shareOf(layer, cut, ranks), shareOf(layer, cut, 1)];
  /** @type {(name: string, each: number, alone: number) => HTMLElement} */
  const line = (name, each, alone) => {
    const more = alone > 0 && ranks * each > alone;
    const cells = [each, ranks * each, alone].map((size) => numberCell(binary(size)));
    return el("tr", { class: more ? "mhsa-more" : null }, rowName(name), cells);
  };
  const rows = [
    line("held: matrices", share.matrices, one.matrices),
    line(`held: ${keptName(layer)}`, share.kept, one.kept),
    ...Object.entries(share.sent).map(([name, size]) => line(`sent: ${name}`, size, 0)),
  ];
  const head = tableHead(
    ["forward, 16 bits", "each rank", "all ranks", "one process"],
    (i) => i > 0,
  );
  return el("table", { "aria-label": "Bytes held and sent" }, head, el("tbody", {}, rows));
}

/** Ranks without a column of their own. @type {(shown: number[], ranks: number) => string} */
export function leftOut(shown, ranks) {
  const [first, last] = [shown.length - 1, ranks - 2];
  if (shown.length === ranks) return "";
  return `Left out: ${first === last ? `rank ${first}` : `ranks ${first} to ${last}`}.`;
}

/** @type {(layer: Layer, cut: string, ranks: number) => string} */
function copiesInWords({ n_kv_heads, d_latent }, cut, ranks) {
  if (ranks === 1) return "";
  if (cut !== BY_HEADS) return ` All matrices are there ${grouped(ranks)} times.`;
  if (d_latent)
    return ` All latents, and W_DKV that makes them, are there ${grouped(ranks)} times.`;
  const times = ranks / n_kv_heads;
  return times > 1 ? ` Every head of keys is there ${grouped(times)} times.` : "";
}

/** @type {(layer: Layer, cut: string, ranks: number) => string} */
export function ranksInWords(layer, cut, ranks) {
  const share = shareOf(layer, cut, ranks);
  const { n_heads, n_kv_heads, tokens, d_latent } = layer;
  const keys = Math.max(n_kv_heads / ranks, 1);
  const of = d_latent ? "" : ` and ${grouped(keys)} of ${grouped(n_kv_heads)} heads of keys`;
  const part =
    cut === BY_HEADS
      ? `${grouped(n_heads / ranks)} of ${grouped(n_heads)} query heads${of}`
      : `${counted(tokens / ranks, "token")} of ${grouped(tokens)}`;
  const passing = cut === ROUND && ranks > 1 ? " A block that passes through needs room too." : "";
  return (
    `Each of ${counted(ranks, "rank")} has ${part}, holds ${binary(share.matrices + share.kept)} `
    + `and sends ${binary(sentOf(share))}.${copiesInWords(layer, cut, ranks)}${passing}`
  );
}
