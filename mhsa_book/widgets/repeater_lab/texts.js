// @ts-check
// Texts as the model reads them: ids of characters, or in words why it cannot read one.

/**
 * Ids, or why there are none.
 * @typedef {{ ids: number[], problem?: undefined } | { ids?: undefined, problem: string }} Encoded
 */

const LETTERS = 26;

/**
 * The nearest text that the model reads: without characters it has not learned, and cut; or null.
 * @type {(text: string, alphabet: string, maxTokens: number) => string | null}
 */
export function readable(text, alphabet, maxTokens) {
  const known = [...text]
    .map((c) => (/[A-Z]/.test(c) ? c.toLowerCase() : c))
    .filter((c) => alphabet.includes(c));
  return known.slice(0, maxTokens - 1).join("") || null;
}

/**
 * Ids of the start token and of every character, or in words why there are none.
 * @type {(text: string, alphabet: string, maxTokens: number) => Encoded}
 */
export function encoded(text, alphabet, maxTokens) {
  const reads = "it reads a to z, 0 to 9 and the space.";
  const characters = [...text];
  if (characters.length === 0) return { problem: `the text is empty; ${reads}` };
  if (characters.length >= maxTokens) {
    const most = `the model has positions for ${maxTokens - 1}; shorten it.`;
    return { problem: `the text has ${characters.length} characters, ${most}` };
  }
  const ids = characters.map((c) => alphabet.indexOf(/[A-Z]/.test(c) ? c.toLowerCase() : c));
  const place = ids.indexOf(-1);
  if (place === -1) return { ids: [alphabet.length, ...ids] };
  const character = characters[place];
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const name = /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `“${character}” (${code})` : code;
  return {
    problem: `character ${place + 1}, ${name}, is not one that the model has learned; ${reads}`,
  };
}

/** What a reader sees of a token, by its id. @type {(alphabet: string, id: number) => string} */
export const tokenSign = (alphabet, id) =>
  id === alphabet.length ? "▷" : alphabet[id].replace(" ", "␣");

/** A token in a sentence, by its id. @type {(alphabet: string, id: number) => string} */
export function tokenName(alphabet, id) {
  if (id === alphabet.length) return "the start";
  return alphabet[id] === " " ? "space" : alphabet[id];
}

/**
 * A text nobody has seen: random letters, the same again, and the beginning once more.
 * @type {(random?: () => number) => string}
 */
export function randomRepeats(random = Math.random) {
  const letter = () => String.fromCharCode(97 + Math.floor(random() * LETTERS));
  const block = Array.from({ length: 6 + Math.floor(random() * 7) }, letter);
  return [...block, ...block, ...block.slice(0, 3)].join("");
}
