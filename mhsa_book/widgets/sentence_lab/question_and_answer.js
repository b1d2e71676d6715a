// @ts-check
// The question of a word, and the answer that the numbers give, each in one sentence.

import { most } from "./attended.js";

/** @import { Head } from "./attended.js" */
/** A sentence and its attention. @typedef {{ words: string[], heads: Head[] }} Seen */

const KINDS = [
  ["living", "something living"],
  ["place", "a place"],
];
const [MEANT, HAPPENED] = [0, 2];

/** @type {(words: string[], w: number) => string} */
export const question = (words, w) =>
  w === words.length - 1 ? `What does “${words[w]}” belong to?` : `Where does “${words[w]}” look?`;

/**
 * `at` is the word that the answer names, −1 for none.
 * @type {(seen: Seen, names: string[], w: number, off: number[]) => { text: string, at: number }}
 */
export function answer({ words, heads }, names, w, off) {
  const word = `“${words[w]}”`;
  /** What a head that is on found: more than half of a 1. @type {(h: number) => string[]} */
  const kinds = (h) =>
    KINDS.filter(([name]) => !off.includes(h) && heads[h].part[w][names.indexOf(name)] > 0.5).map(
      ([, said]) => said,
    );
  const [meant, doer] = [MEANT, HAPPENED].map((h) => most(heads[h].weights[w]));
  const [kind] = kinds(MEANT);
  if (kind && meant === w) return { text: `${word} finds itself: ${kind}.`, at: w };
  if (kind) return { text: `${word} belongs to ${kind}: “${words[meant]}”.`, at: meant };
  if (kinds(HAPPENED).length)
    return { text: `${word} learns who did it: “${words[doer]}”.`, at: doer };
  if (off.includes(MEANT)) return { text: `Nobody tells ${word} what it belongs to.`, at: -1 };
  const rests = `“who is meant” rests on “${words[meant]}”, whose v is 0`;
  return { text: `${word} belongs to no other word: ${rests}.`, at: -1 };
}
