// @ts-check
// Tokens as words on a page: any text, shortened, with nothing invisible or out of order in it.

/**
 * A token as it can be drawn: control characters spelled out, the longest shortened.
 * @type {(token: string, longest?: number) => string}
 */
export function spelled(token, longest = 14) {
  if (token === "") return "(empty)";
  if (token.length <= longest && /^[!-~]*$/.test(token)) return token;
  const enough = token.slice(0, 20 * longest); // quick on a token of a million characters, too
  const letters = graphemes(enough.replace(/[\p{Cc}\p{Cs}\p{Cn}]/gu, sign));
  const long = letters.length > longest || enough !== token;
  const text = long ? `${letters.slice(0, longest - 1).join("")}…` : letters.join("");
  return text.replace(/^\s+$/, (blank) => "␣".repeat(blank.length));
}

/**
 * A token in a sentence, in marks that keep right-to-left text from turning the rest around.
 * @type {(token: string) => string}
 */
export const quoted = (token) => `“\u2068${spelled(token, 30)}\u2069”`;

/**
 * Whether a tokenizer added it: [CLS], [SEP], <s>, <|endoftext|> and the like.
 * @type {(token: string) => boolean}
 */
export const isSpecial = (token) => /^(\[[A-Z]+\d*\]|<\/?[a-z]+>|<\|[^|]+\|>)$/.test(token);

/** @type {(character: string) => string} */
function sign(character) {
  const code = character.codePointAt(0) ?? 0;
  return code < 32 ? String.fromCodePoint(0x2400 + code) : "\ufffd";
}

/** @type {(text: string) => string[]} */
function graphemes(text) {
  if (!Intl.Segmenter) return [...text];
  return Array.from(new Intl.Segmenter().segment(text), (part) => part.segment);
}
