// @ts-check
// A sentence as menus: one for every word, and for every word that could still be added.

import { kindsOf, read, wordsOf } from "./rules.js";

/** @import { Phrase, Sentence, Tables } from "./rules.js" */
/**
 * A menu: its name, the kind of word, the words it offers ("" for none), the one that is chosen,
 * the sentence that each choice makes, and whether the model knows that.
 * @typedef {{ label: string, kind: string, options: string[], value: string,
 *   made: string[], known: boolean[] }} Slot
 */

const PLACES = ["first", "second"];

/** The menus of a sentence, in its order. @type {(sentence: Sentence, tables: Tables) => Slot[]} */
export function slotsOf(sentence, tables) {
  const kinds = kindsOf(tables);
  const slots = /** @type {Slot[]} */ ([]);
  /** @type {(label: string, options: string[], value: string, put: Put) => void} */
  const add = (label, options, value, put) => {
    const made = options.map((word) => {
      const changed = structuredClone(sentence);
      put(changed, word);
      return wordsOf(changed).join(" ");
    });
    const known = made.map((text) => read(text, tables).problem === undefined);
    const kind = label.split(" ").at(-1) ?? "";
    slots.push({ label, kind, options, value, made, known });
  };
  sentence.clauses.forEach(({ verb, phrases }, c) => {
    const clause = `${PLACES[c]} clause`;
    add(`${clause}: verb`, kinds.verb, verb, (changed, word) => (changed.clauses[c].verb = word));
    phrases.forEach((phrase, p) => {
      const where = `${clause}, ${PLACES[p]} phrase`;
      const numbers = p ? ["", ...kinds.number] : kinds.number;
      add(`${where}: number`, numbers, phrase[0], (changed, word) => {
        if (word) changed.clauses[c].phrases[p][0] = word;
        else changed.clauses[c].phrases.pop();
      });
      add(`${where}: adjective`, ["", ...kinds.adjective], phrase[1], (changed, word) => {
        changed.clauses[c].phrases[p][1] = word;
      });
      add(`${where}: noun`, kinds.noun, phrase[2], (changed, word) => {
        changed.clauses[c].phrases[p][2] = word;
      });
    });
    if (phrases.length === 1) {
      const other = kinds.noun.find((noun) => noun !== phrases[0][2]) ?? "";
      add(`${clause}, second phrase: number`, ["", ...kinds.number], "", (changed, word) => {
        if (word) changed.clauses[c].phrases.push([word, "", other]);
      });
    }
    if (c === 0) {
      add("between two clauses: join", ["", ...kinds.join], sentence.join, (changed, word) => {
        changed.join = word;
        /** @type {Phrase} */
        const phrase = [kinds.number[0], "", kinds.noun[0]];
        if (!word) changed.clauses.length = 1;
        else if (!changed.clauses[1])
          changed.clauses.push({ verb: kinds.verb[0], phrases: [phrase] });
      });
    }
  });
  return slots;
}

/** Puts a word into a sentence. @typedef {(sentence: Sentence, word: string) => void} Put */

/**
 * A sentence that the model knows, drawn evenly from what the menus could make.
 * @type {(tables: Tables, random?: () => number) => string}
 */
export function drawnSlots(tables, random = Math.random) {
  const kinds = kindsOf(tables);
  /** @type {(words: string[]) => string} */
  const one = (words) => words[Math.floor(random() * words.length)];
  /** @type {() => Phrase} */
  const phrase = () => [
    one(kinds.number),
    random() < 0.5 ? one(kinds.adjective) : "",
    one(kinds.noun),
  ];
  const clause = () => ({
    verb: one(kinds.verb),
    phrases: random() < 0.5 ? [phrase()] : [phrase(), phrase()],
  });
  for (;;) {
    const two = random() < 0.5;
    const clauses = two ? [clause(), clause()] : [clause()];
    const text = wordsOf({ clauses, join: two ? one(kinds.join) : "" }).join(" ");
    if (read(text, tables).problem === undefined) return text;
  }
}
