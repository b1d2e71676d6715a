// @ts-check
// The rules of the two languages, as mhsa_book.examples.language has them: what a sentence is, what
// is wrong with one that is none, and its translation with the words that each word translates.

/**
 * All words, as Python sends them.
 * @typedef {{ plain: Record<string, string>, ambiguous: Record<string, string[]>,
 *   wet: Record<string, string>, dry: Record<string, string>, adjectives: Record<string, string>,
 *   numbers: Record<string, number>, joins: Record<string, string>,
 *   greetings: Record<string, string>, lengths: number[] }} Tables
 */
/**
 * How many of what; no adjective is "".
 * @typedef {[number: string, adjective: string, noun: string]} Phrase
 */
/** @typedef {{ verb: string, phrases: Phrase[] }} Clause */
/**
 * One clause, or two and a word between them.
 * @typedef {{ clauses: Clause[], join: string }} Sentence
 */
/**
 * A word, and the positions of those that it translates.
 * @typedef {{ text: string, aligned: number[] }} Word
 */

const LISTED = 3; // words of a kind that are listed, where there are more than twice as many

class Refused extends Error {}

/** @type {(tables: Tables) => Record<string, string[]>} */
export const kindsOf = ({ plain, ambiguous, wet, dry, adjectives, numbers, joins }) => ({
  noun: Object.keys({ ...plain, ...ambiguous }),
  adjective: Object.keys(adjectives),
  verb: Object.keys({ ...wet, ...dry }),
  number: Object.keys(numbers),
  join: Object.keys(joins),
});

/**
 * The sentence of a text, or in words why there is none that the model knows.
 * @type {(text: string, tables: Tables) =>
 *   { sentence: Sentence, problem?: undefined } | { sentence?: undefined, problem: string }}
 */
export function read(text, tables) {
  try {
    const sentence = parsed(text.split(/\s+/).filter(Boolean), kindsOf(tables));
    fits(sentence, tables);
    return { sentence };
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message };
    throw error;
  }
}

/** @type {(words: string[], kinds: Record<string, string[]>) => Sentence} */
function parsed(words, kinds) {
  const unknown = words.find((word) => !Object.values(kinds).flat().includes(word));
  if (unknown !== undefined) throw new Refused(`“${unknown}” is no word.`);
  const joins = words.filter((word) => kinds.join.includes(word));
  const parts = /** @type {string[][]} */ ([[]]);
  for (const word of words) {
    if (!kinds.join.includes(word)) parts[parts.length - 1].push(word);
    else if (parts[parts.length - 1].length) parts.push([]);
  }
  const clauses = parts.filter((part) => part.length);
  if (joins.length > 1 || clauses.length !== 1 + joins.length) {
    const found = joins.map((word) => `“${word}”`).join(", ") || "nothing";
    const rule = "a sentence is one clause, or two with";
    const between = `${kinds.join.join(" or ")} between them.`;
    throw new Refused(`The sentence joins ${found}; ${rule} ${between}`);
  }
  return { clauses: clauses.map((part) => clauseOf(part, kinds)), join: joins[0] ?? "" };
}

/** @type {(words: string[], kinds: Record<string, string[]>) => Clause} */
function clauseOf(words, kinds) {
  const left = [...words];
  /** @type {(of: string[], name: string) => string} */
  const next = (of, name) => {
    const word = left.shift();
    const listed = of.length > 2 * LISTED ? [...of.slice(0, LISTED), "…"] : of;
    const all = `(${listed.join(", ")})`;
    if (word === undefined) throw new Refused(`The sentence ends before its ${name} ${all}.`);
    if (!of.includes(word)) throw new Refused(`“${word}” is no ${name} ${all}.`);
    return word;
  };
  /** @type {() => Phrase} */
  const phrase = () => {
    const number = next(kinds.number, "number");
    const word = next([...kinds.adjective, ...kinds.noun], "adjective or noun");
    if (kinds.noun.includes(word)) return [number, "", word];
    return [number, word, next(kinds.noun, "noun")];
  };
  const verb = next(kinds.verb, "verb");
  const phrases = [phrase()];
  if (left.length) phrases.push(phrase());
  const rule = "a clause has one phrase or two.";
  if (left.length) throw new Refused(`“${left[0]}” is too much; ${rule}`);
  const [first, second] = phrases.map(([, , noun]) => noun);
  if (first !== second) return { verb, phrases };
  throw new Refused(`“${first}” comes twice in a clause; take another noun.`);
}

/** @type {(sentence: Sentence, tables: Tables) => void} */
function fits(sentence, tables) {
  const [shortest, most] = tables.lengths;
  const learned = `the model has learned sentences of ${shortest} to ${most}.`;
  const n = wordsOf(sentence).length;
  if (n < shortest || n > most) throw new Refused(`The sentence has ${n} words; ${learned}`);
  const greetings = Object.keys(tables.greetings);
  const longest = Math.max(...greetings.map((all) => translated(sentence, all, tables).length));
  if (longest > most) throw new Refused(`A translation has ${longest} words; ${learned}`);
}

/** As the source language says it. @type {(sentence: Sentence) => string[]} */
export function wordsOf({ clauses, join }) {
  const said = clauses.map(({ verb, phrases }) => [verb, ...phrases.flat()].filter(Boolean));
  return join ? [...said[0], join, ...said[1]] : said[0];
}

/**
 * The translation by the rules that begins with a greeting.
 * @type {(sentence: Sentence, greeting: string, tables: Tables) => Word[]}
 */
export function translated({ clauses, join }, greeting, tables) {
  const { plain, ambiguous, wet, dry, adjectives, numbers, joins, greetings } = tables;
  const words = greeting
    .split(" ")
    .map((text) => ({ text, aligned: /** @type {number[]} */ ([]) }));
  /** @type {(text: string, ...aligned: number[]) => void} */
  const say = (text, ...aligned) => words.push({ text, aligned });
  let at = 0;
  for (const { verb, phrases } of clauses) {
    if (at) say(joins[join], at++);
    const verbAt = at++;
    for (const [number, adjective, noun] of phrases) {
      const [numberAt, adjectiveAt] = [at, at + 1];
      at += adjective ? 3 : 2;
      const text = plain[noun] ?? ambiguous[noun][verb in dry ? 1 : 0];
      say(text, at - 1);
      for (let again = 1; again < numbers[number]; again += 1) say(text, numberAt, at - 1);
      if (adjective) say(adjectives[adjective], adjectiveAt);
    }
    say((wet[verb] ?? dry[verb]) + greetings[greeting], verbAt);
  }
  return words;
}
