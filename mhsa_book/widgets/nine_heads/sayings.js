// @ts-check
// What the figure says of a head, of its tile, and of the heads that are off.

import { caseOf, chancesOf, largestAt, switched, weightsOf } from "./cases.js";
import { attends, gives, moves, once, outcome, points } from "./words.js";

/** @import { Cases } from "./cases.js" */
/** @import { Says } from "./nine_tiles.js" */
/** A button that sets which heads are off. @typedef {[string, number[], string]} Walk */

/**
 * `bar` is the next word in question and `pointed` the word of the sentence, −1 for none; `kind`
 * says which of the two names a word is.
 * @param {{ cases: Cases, names: string[], tokens: string[], words: string[], jobs: string[],
 *   walks: Walk[], of: number, kind: (word: string) => number }} about
 */
export function sayings({ cases, names, tokens, words, jobs, walks, of, kind }) {
  /** @type {(k: number, off: number[], word: number, bar: number) => Says} */
  function ofTile(k, off, word, bar) {
    if (bar >= 0) {
      const change = chancesOf(cases, switched(off, k))[bar] - chancesOf(cases, off)[bar];
      return { text: points(change), kind: Math.abs(change) < 0.0005 ? -1 : Math.min(bar, 1) };
    }
    const best = largestAt(weightsOf(cases, k, off, word));
    return { text: best === word ? "→ itself" : `→ ${tokens[best]}`, kind: kind(tokens[best]) };
  }

  /** @type {(k: number, off: number[], word: number, bar: number, pointed: number) => string} */
  function ofHead(k, off, word, bar, pointed) {
    const row = weightsOf(cases, k, off, word);
    if (bar >= 0) return moves(bar < words.length ? `“${words[bar]}”` : "all other words");
    if (pointed >= 0) return gives(tokens, row, names[k], word, pointed);
    const job = word === tokens.length - 1 ? ` ${jobs[k]}` : "";
    const would = chancesOf(cases, switched(off, k));
    const then = once(words, would, names[k], off.includes(k));
    return `${attends(tokens, row, names[k], word)}${job} ${then}`;
  }

  /** @type {(off: number[], chances: number[]) => string} */
  function ofCase(off, chances) {
    const walk = walks.find(([, some]) => caseOf(some) === caseOf(off));
    const text = outcome(words, chances, off, of);
    return walk ? `${text} ${walk[2]}` : text;
  }
  return { ofTile, ofHead, ofCase };
}
