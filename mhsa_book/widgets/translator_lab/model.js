// @ts-check
// The trained translator on plain arrays, as mhsa_book.transformer has it: an encoder reads a
// sentence, a decoder writes another word by word. Every attention keeps the keys and values it
// has made, so a new word is one row.

import { upTo } from "../shared/numbers.js";
import { dot, softmaxRow } from "../shared/tensor.js";
import { fed, norm, plus, times } from "./rows.js";

/** @import { Matrices } from "../shared/halves.js" */
/** @import { Row } from "./rows.js" */
/**
 * What each head writes that is switched off, by its name.
 * @typedef {Record<string, ArrayLike<number>>} Instead
 */
/**
 * What was written, the logits that each word was chosen from, and by a head's name its weights,
 * a row for each query.
 * @typedef {{ ids: number[], logits: Row[], weights: Record<string, number[][]> }} Written
 */

export const [BOS, EOS] = [1, 2];
export const [LAYERS, HEADS] = [2, 4];

/**
 * The name of a head, as Python has it.
 * @type {(kind: string, layer: number, h: number) => string}
 */
export const headName = (kind, layer, h) => `${kind} L${layer}H${h}`;

/**
 * One attention: `remember` makes keys and values of a row, `look` is the pass of one query.
 * @param {Matrices} model @param {string} path @param {string[]} names its heads
 * @param {Instead} instead
 */
function attentionOf(model, path, names, instead) {
  const [W_Q, W_K, W_V] = ["W_Q", "W_K", "W_V"].map((W) => model[`${path}.project.${W}.weight`]);
  const [keys, values] = [/** @type {Row[]} */ ([]), /** @type {Row[]} */ ([])];
  const weights = names.map(() => /** @type {number[][]} */ ([]));
  const d_head = W_Q.length / names.length;
  /** @type {(row: Row, h: number) => Row} */
  const own = (row, h) => row.subarray(h * d_head, (h + 1) * d_head);
  /** @type {(row: Row) => void} */
  function remember(row) {
    keys.push(times(row, W_K));
    values.push(times(row, W_V));
  }
  /** @type {(row: Row) => Row} */
  function look(row) {
    const q = times(row, W_Q);
    const concat = new Float64Array(q.length);
    names.forEach((name, h) => {
      const scores = keys.map((k) => dot(own(q, h), own(k, h)) / Math.sqrt(d_head));
      const looks = softmaxRow(scores);
      weights[h].push(looks);
      const z = own(concat, h);
      if (instead[name]) z.set(instead[name]);
      else values.forEach((v, k) => own(v, h).forEach((value, i) => (z[i] += looks[k] * value)));
    });
    return times(concat, model[`${path}.W_O.weight`]);
  }
  return { names, weights, remember, look };
}

/** @type {(model: Matrices, table: string, id: number, place: number) => Row} */
const embed = (model, table, id, place) =>
  plus(model[`${table}.tokens.weight`][id], model[`${table}.positions.weight`][place]);

/** @typedef {ReturnType<typeof attentionOf>} Attention */

/**
 * The attentions of a stack, one for each layer.
 * @type {(model: Matrices, path: string, kind: string, instead: Instead) => Attention[]}
 */
function attentionsOf(model, path, kind, instead) {
  return upTo(LAYERS).map((layer) => {
    const names = upTo(HEADS).map((h) => headName(kind, layer, h));
    return attentionOf(model, path.replace("*", `${layer}`), names, instead);
  });
}

/**
 * Every word looks at every other.
 * @type {(model: Matrices, ids: number[], all: Attention[]) => Row[]}
 */
function encode(model, ids, all) {
  let stream = ids.map((id, place) => embed(model, "embed_source", id, place));
  all.forEach((attention, layer) => {
    const path = `encoder.${layer}`;
    const read = stream.map((row) => norm(row, model, `${path}.self_attention_norm`));
    read.forEach(attention.remember);
    stream = stream.map((row, i) => plus(row, attention.look(read[i])));
    stream = stream.map((row) => fed(row, model, path));
  });
  return stream.map((row) => norm(row, model, "encoder_norm"));
}

/**
 * The likeliest word after the words so far, again and again, until the sentence ends. It begins
 * with the words that are `given`; heads named in `instead` are off.
 * @type {(model: Matrices, source: number[], given?: number[], instead?: Instead) => Written}
 */
export function translate(model, source, given = [], instead = {}) {
  const encoder = attentionsOf(model, "encoder.*.self_attention", "encoder", instead);
  const own = attentionsOf(model, "decoder.*.self_attention", "decoder", instead);
  const cross = attentionsOf(model, "decoder.*.cross_attention", "cross", instead);
  const memory = encode(model, source, encoder);
  for (const attention of cross) memory.forEach(attention.remember); // once for all words
  const [ids, logits] = [/** @type {number[]} */ ([]), /** @type {Row[]} */ ([])];
  while (ids.length < model["embed_target.positions.weight"].length && ids.at(-1) !== EOS) {
    let row = embed(model, "embed_target", ids.at(-1) ?? BOS, ids.length);
    own.forEach((attention, layer) => {
      const path = `decoder.${layer}`;
      const read = norm(row, model, `${path}.self_attention_norm`);
      attention.remember(read);
      row = plus(row, attention.look(read));
      row = plus(row, cross[layer].look(norm(row, model, `${path}.cross_attention_norm`)));
      row = fed(row, model, path);
    });
    logits.push(times(norm(row, model, "decoder_norm"), model["unembed.weight"]));
    ids.push(given[ids.length] ?? likeliest(logits[ids.length]));
  }
  const all = [...encoder, ...own, ...cross];
  const weights = all.flatMap((one) => one.names.map((name, h) => [name, one.weights[h]]));
  return { ids, logits, weights: Object.fromEntries(weights) };
}

/** @type {(logits: Row) => number} */
function likeliest(logits) {
  let best = EOS; // padding and begin stand before it, and are never chosen
  for (let id = EOS; id < logits.length; id += 1) if (logits[id] > logits[best]) best = id;
  return best;
}
