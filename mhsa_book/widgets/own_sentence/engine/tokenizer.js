// @ts-check
// WordPiece as BERT has it, without capitals: a text is cleaned, split into words and signs, and
// each word into the longest pieces that the vocabulary holds. The model's own tokenizer knows the
// marks and punctuation of Unicode 8: some 650 younger ones, of rare scripts, are cut otherwise.
// Source: Devlin et al., "BERT", section 3.1, arXiv 1810.04805.

/** The words of the vocabulary and their ids. @typedef {Map<string, number>} Vocabulary */

const LONGEST_WORD = 100;
export const [UNKNOWN, FIRST, LAST] = ["[UNK]", "[CLS]", "[SEP]"];
const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/u;
const DROPPED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
const SPACE = /[\t\n\r\p{Z}]/gu;
const PUNCTUATION = /([!-/:-@[-`{-~\p{P}])/u;

/**
 * Blocks of characters, each a word by itself, as the model's own tokenizer has them.
 * @type {[first: number, last: number][]}
 */
const CJK = [
  [0x4e00, 0x9fff],
  [0x3400, 0x4dbf],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2b73f],
  [0x2b740, 0x2b81f],
  [0x2b920, 0x2ceaf],
  [0xf900, 0xfaff],
  [0x2f800, 0x2fa1f],
];

/** @type {(character: string) => boolean} */
function isCjk(character) {
  const code = character.codePointAt(0) ?? 0;
  return CJK.some(([first, last]) => first <= code && code <= last);
}

/**
 * A text without control characters, accents and capitals; half a character is none.
 * @type {(text: string) => string}
 */
export function cleaned(text) {
  const spaced = [...text.replace(DROPPED, "").replace(SPACE, " ")];
  const apart = spaced.map((one) => (isCjk(one) ? ` ${one} ` : one)).join("");
  const plain = apart.normalize("NFD").replace(/\p{Mn}/gu, "");
  return [...plain].map((one) => one.toLowerCase()).join(""); // one by one: σ, never ς
}

/** @type {(text: string) => string[]} */
const wordsIn = (text) =>
  cleaned(text)
    .split(/\s/u)
    .flatMap((word) => word.split(PUNCTUATION))
    .filter(Boolean);

/**
 * The longest pieces from the left; one unknown where some part has none.
 * @type {(word: string, vocabulary: Vocabulary) => string[]}
 */
function piecesOf(word, vocabulary) {
  const letters = [...word];
  if (letters.length > LONGEST_WORD) return [UNKNOWN];
  const found = [];
  for (let from = 0; from < letters.length;) {
    let [to, piece] = [letters.length, ""];
    for (; to > from; to -= 1) {
      piece = `${from ? "##" : ""}${letters.slice(from, to).join("")}`;
      if (vocabulary.has(piece)) break;
    }
    if (to === from) return [UNKNOWN];
    found.push(piece);
    from = to;
  }
  return found;
}

/**
 * All tokens of a text, without the two that are set around it.
 * @type {(text: string, vocabulary: Vocabulary) => string[]}
 */
export function tokensIn(text, vocabulary) {
  const parts = text.split(SPECIAL);
  return parts.flatMap((part, i) =>
    i % 2 ? [part] : wordsIn(part).flatMap((word) => piecesOf(word, vocabulary)),
  );
}

/**
 * The tokens that the model reads: at most so many with [CLS] and [SEP], and how many are cut.
 * @type {(text: string, vocabulary: Vocabulary, most: number) =>
 *   { tokens: string[], ids: number[], cut: number }}
 */
export function tokenized(text, vocabulary, most) {
  const all = tokensIn(text, vocabulary);
  const kept = all.slice(0, most - 2);
  const tokens = [FIRST, ...kept, LAST];
  const ids = tokens.map((token) => vocabulary.get(token) ?? 0);
  return { tokens, ids, cut: all.length - kept.length };
}
