// @ts-check
// Byte-level BPE as GPT-2 has it, each digit by itself: a text is split into words, and the bytes
// of each word are merged, the earliest learned merge first. Nothing is normalised before.
// Sources: Sennrich et al., arXiv 1508.07909; Radford et al., "Language Models are Unsupervised
// Multitask Learners", section 2.2.

/**
 * Its tokens, their ids, and the rank of every merge ("left right"); `special` splits a text at
 * tokens that no text is merged into, and is null where there are none.
 * @typedef {{ tokens: string[], ids: Map<string, number>, ranks: Map<string, number>,
 *   special: RegExp | null }} Bpe
 */

const CONTROL = 3; // the type of a special token in a GGUF file
const SPACE = String.raw`\p{White_Space}`;
/** Words as GPT-2 splits them: what stands for a blank goes with the word behind it. */
const WORD = new RegExp(
  [
    "'(?:s|t|re|ve|m|ll|d)",
    String.raw` ?\p{L}+`,
    String.raw` ?\p{N}+`,
    String.raw` ?[^${SPACE}\p{L}\p{N}]+`,
    String.raw`${SPACE}+(?!\P{White_Space})`,
    `${SPACE}+`,
  ].join("|"),
  "gu",
);

/** A letter for each byte: those that can be seen stand for themselves. */
const LETTERS = lettersOfBytes();
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));
const ENCODER = new TextEncoder();

function lettersOfBytes() {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCharCode(seen ? byte : next++);
  });
}

/** @param {{ tokens: string[], types: number[], merges: string[] }} file @returns {Bpe} */
export function bpeOf({ tokens, types, merges }) {
  const special = tokens.filter((_, id) => types[id] === CONTROL);
  // Of two that begin alike the longer one counts, so it stands first.
  const longest = special.sort((a, b) => b.length - a.length);
  const escaped = longest.map((token) => token.replace(/[|\\{}()[\]^$+*?.]/g, "\\$&"));
  return {
    tokens,
    ids: new Map(tokens.map((token, id) => [token, id])),
    ranks: new Map(merges.map((pair, rank) => [pair, rank])),
    special: special.length ? new RegExp(`(${escaped.join("|")})`, "u") : null,
  };
}

/** A few bytes have no token, and leave nothing. @type {(word: string, bpe: Bpe) => string[]} */
function merged(word, { ids, ranks }) {
  const letters = Array.from(ENCODER.encode(word), (byte) => LETTERS[byte]);
  const parts = letters.filter((letter) => ids.has(letter));
  for (;;) {
    let [best, at] = [Infinity, -1];
    for (let i = 0; i + 1 < parts.length; i += 1) {
      const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
      if (rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return parts;
    parts.splice(at, 2, parts[at] + parts[at + 1]);
  }
}

/** Words and single digits. @type {(text: string) => string[]} */
const wordsOf = (text) => text.split(/(\p{N})/u).flatMap((part) => part.match(WORD) ?? []);

/** The ids of all tokens of a text. @type {(text: string, bpe: Bpe) => number[]} */
export function idsIn(text, bpe) {
  const { ids, special } = bpe;
  const id = (/** @type {string} */ token) => /** @type {number} */ (ids.get(token));
  const parts = special ? text.split(special) : [text];
  return parts.flatMap((part, i) =>
    i % 2 ? id(part) : wordsOf(part).flatMap((word) => merged(word, bpe).map(id)),
  );
}

/** @type {(token: string) => number[]} */
const bytesOf = (token) =>
  [...token].flatMap((letter) => BYTES.get(letter) ?? [...ENCODER.encode(letter)]);

/** The text of tokens; half a character is U+FFFD. @type {(ids: number[], bpe: Bpe) => string} */
export const textOf = (ids, { tokens }) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    Uint8Array.from(ids.flatMap((id) => bytesOf(tokens[id]))),
  );

/**
 * How a token is shown: its text, its space included, or its bytes ("<0xF0>") where these are not
 * whole characters.
 * @type {(id: number, bpe: Bpe) => string}
 */
export function spelling(id, { tokens }) {
  const bytes = Uint8Array.from(bytesOf(tokens[id]));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const hex = (/** @type {number} */ byte) => byte.toString(16).toUpperCase().padStart(2, "0");
    return Array.from(bytes, (byte) => `<0x${hex(byte)}>`).join("");
  }
}
