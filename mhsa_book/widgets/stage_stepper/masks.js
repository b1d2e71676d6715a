// @ts-check
// Masks of the stepper: some to choose by name, or the reader's own.

import { upTo } from "../shared/numbers.js";

/**
 * Masks to choose, by name; true where a query may look.
 * @type {Record<string, (query: number, key: number) => boolean>}
 */
export const MASKS = { none: () => true, causal: (query, key) => query >= key };

/** The mask of a name for n tokens, as rows. @type {(name: string, n: number) => boolean[][]} */
export const denseMask = (name, n) =>
  upTo(n).map((query) => upTo(n).map((key) => MASKS[name](query, key)));

/** Which of them a mask is, or "my own". @type {(mask: boolean[][]) => string} */
export const maskName = (mask) =>
  Object.keys(MASKS).find((name) => `${denseMask(name, mask.length)}` === `${mask}`) ?? "my own";

/** What queries that may look at no key are left with. @type {(mask: boolean[][]) => string} */
export const blindInWords = (mask) =>
  mask
    .flatMap((row, query) => (row.some(Boolean) ? [] : [query]))
    .map((query) => `Query ${query} may look at no key: its weights, its z and its y are zeros.`)
    .join(" ");
