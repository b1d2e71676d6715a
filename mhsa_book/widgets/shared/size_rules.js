// @ts-check
// Sizes that hold each other: n_heads divides d_model unless d_head is set, and n_kv_heads divides
// n_heads. What these rules leave, what moves along, and what would repair sizes that break them.

import { upTo } from "./numbers.js";
import { doublings, nearest } from "./stops.js";

/**
 * Sizes by name, some of them; d_head null means d_model / n_heads.
 * @typedef {Record<string, any>} Sizes
 */
/** The largest of each. @typedef {Record<string, number>} Most */

/**
 * Powers of two and three times them: the sizes of most models.
 * @type {(most: number) => number[]}
 */
export const roundSizes = (most) =>
  doublings(most)
    .flatMap((size) => [size, 1.5 * size])
    .filter((size) => Number.isInteger(size) && size <= most);

/** What divides a size, up to `most`. @type {(size: number, most?: number) => number[]} */
export const divisors = (size, most = size) =>
  upTo(Math.min(size, most))
    .map((i) => i + 1)
    .filter((part) => size % part === 0);

/** @type {(sizes: Sizes) => boolean} */
const tied = ({ d_model, d_head }) => d_model !== undefined && d_head === null;

/** The neighbours of a number in a list. @type {(list: number[], size: number) => number[]} */
const around = (list, size) =>
  [list.findLast((part) => part < size), list.find((part) => part > size)].filter(
    (part) => part !== undefined,
  );

/**
 * The values that the others leave a size, or null where no rule speaks of it.
 * @type {(name: string, sizes: Sizes, most: Most) => number[] | null}
 */
export function left(name, sizes, most) {
  if (name === "n_heads" && tied(sizes)) return divisors(sizes.d_model, most.n_heads);
  return name === "n_kv_heads" ? divisors(sizes.n_heads, most.n_kv_heads) : null;
}

/**
 * Why these sizes do not go together, with a repair, in the words of mhsa_lib.checks; or null.
 * @type {(sizes: Sizes) => string | null}
 */
export function wrongSizes({ d_model, n_heads, n_kv_heads, d_head }) {
  if (d_head === null && d_model % n_heads) {
    const below = d_model - (d_model % n_heads);
    const near = [below, below + n_heads].filter((size) => size);
    return (
      `n_heads=${n_heads} does not divide d_model=${d_model}; `
      + `try ${near.map((size) => `d_model=${size}`).join(" or ")}, or set d_head.`
    );
  }
  if (n_heads % n_kv_heads) {
    const near = around(divisors(n_heads), n_kv_heads);
    return (
      `n_kv_heads=${n_kv_heads} does not divide n_heads=${n_heads}; `
      + `try ${near.map((n) => `n_kv_heads=${n}`).join(" or ")}.`
    );
  }
  return null;
}

/**
 * What is wrong with sizes of which some may not be there, in the words of the library; or null.
 * @type {(sizes: Sizes) => string | null}
 */
export const problemOf = (sizes) =>
  wrongSizes({ d_model: 0, d_head: 0, n_kv_heads: sizes.n_heads, ...sizes });

/**
 * Sizes after `name` was changed: those that depend on it go to the valid size nearest to what
 * was wished for them, so that on the way back they come back too. Heads for keys that were as
 * many as all heads (the wish is null) stay as many.
 * @type {(sizes: Sizes, name: string, wished: Sizes, most: Most) => Sizes}
 */
export function settled(sizes, name, wished, most) {
  const after = { ...sizes };
  /** @type {(part: string, wish: number) => number} */
  const to = (part, wish) => nearest(left(part, after, most) ?? [after[part]], wish);
  /** @type {(part: string) => boolean} */
  const moves = (part) =>
    part in sizes && part !== name && ["d_model", "d_head", "n_heads"].includes(name);
  if (moves("n_heads") && tied(after)) after.n_heads = to("n_heads", wished.n_heads);
  if (moves("n_kv_heads")) after.n_kv_heads = to("n_kv_heads", wished.n_kv_heads ?? after.n_heads);
  return after;
}

/**
 * Single changes that make the sizes valid.
 * @type {(sizes: Sizes, most: Most) => [name: string, size: number][]}
 */
export function repairs(sizes, most) {
  const { d_model, n_heads, n_kv_heads } = sizes;
  /** @type {(name: string) => [string, number][]} */
  const near = (name) =>
    around(left(name, sizes, most) ?? [], sizes[name]).map((size) => [name, size]);
  const below = d_model - (d_model % n_heads);
  /** @type {[string, number][]} */
  const widths = [
    ["d_model", below],
    ["d_model", below + n_heads],
    ["d_head", Math.round(d_model / n_heads)],
  ];
  const heads = n_heads + n_kv_heads - (n_heads % n_kv_heads);
  /** @type {[string, number][]} */
  const tries =
    tied(sizes) && d_model % n_heads
      ? [...near("n_heads"), ...widths]
      : [...near("n_kv_heads"), ["n_heads", heads]];
  return tries.filter(([name, size]) => {
    const inside = size >= 1 && size <= most[name];
    return inside && problemOf(settled({ ...sizes, [name]: size }, name, sizes, most)) === null;
  });
}
