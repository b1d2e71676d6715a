// @ts-check
// Dials for sizes that hold each other: one goes over what the rules leave, and what depends on it
// moves along.

import { check } from "./controls.js";
import { dial } from "./dial.js";
import { notice } from "./notice.js";
import { clamp } from "./numbers.js";
import { left, problemOf, repairs, roundSizes, settled } from "./size_rules.js";
import { lawInWords, movedInWords } from "./size_words.js";
import { doublings } from "./stops.js";

/** @import { Fix } from "./notice.js" */
/** @import { Most, Sizes } from "./size_rules.js" */

/** @type {Record<string, string>} */
const UNITS = {
  batch: "sequence",
  seq: "token",
  d_model: "column",
  n_heads: "head",
  n_kv_heads: "key-value head",
  d_head: "column",
  layers: "layer",
  d_latent: "column",
  d_rope: "column",
  tokens: "token",
  sequences: "sequence",
};
const DOUBLED = ["batch", "seq", "tokens", "sequences"];

/** @type {(name: string, most: number) => number[]} */
const stopsOf = (name, most) => (DOUBLED.includes(name) ? doublings(most) : roundSizes(most));

/**
 * Dials for the sizes in `most`, a switch for d_head = d_model / n_heads, and the notice under
 * them. `read` gives all sizes, `put` takes those that changed, and `draw` shows the sizes and
 * returns whether they go together; `rule` tells the rules that hold.
 * @param {{ most: Most, read: () => Sizes, put: (changes: Sizes) => void, signal: AbortSignal,
 *   rule?: (sizes: Sizes) => string }} about
 */
export function sizeControls(about) {
  const { most, read, put, signal } = about;
  const rule = about.rule ?? ("n_heads" in most ? lawInWords : () => "");
  const names = Object.keys(most);
  const place = notice({ signal, tall: "n_heads" in most });
  const start = read();
  /** @type {Sizes} */
  const wished = {};
  /** @type {Sizes} */
  const ours = {};
  let movedWords = "";
  let told = start; // the last sizes that went together, and what was asked for since

  /** @type {(name: string) => ReturnType<typeof dial>} */
  const sizeDial = (name) =>
    dial({
      label: name,
      unit: UNITS[name],
      max: most[name],
      stops: stopsOf(name, most[name]),
      value: start[name] ?? 1,
      signal,
      wrong: place.wrong,
      change: (size) => change(name, size),
    });
  const dials = Object.fromEntries(names.map((name) => [name, sizeDial(name)]));
  const derived = check({
    label: "d_head = d_model / n_heads",
    value: start.d_head === null,
    signal,
    change: (on) => change("d_head", on ? null : ownWidth(read(), most)),
  });

  /** @type {(name: string, size: number | null, sizes: Sizes) => void} */
  function wish(name, size, { n_heads }) {
    wished[name] = name === "n_kv_heads" && size === n_heads ? null : size;
  }
  /** @type {(name: string, size: number | null) => void} */
  function change(name, size) {
    const before = read();
    wish(name, size, before);
    const after = settled({ ...before, [name]: size }, name, wished, most);
    movedWords = movedInWords(told, after, name);
    told = { ...told, [name]: size };
    if (name === "d_head" && before.d_head === null) {
      movedWords += ` d_head is no longer d_model / n_heads.`;
    }
    Object.assign(ours, after);
    const changes = Object.entries(after).filter(([part, value]) => value !== before[part]);
    if (changes.length) put(Object.fromEntries(changes));
  }
  /**
   * Take over what Python changed, or a model that was chosen.
   * @type {(sizes: Sizes) => boolean}
   */
  function follow(sizes) {
    const changed = names.filter((name) => sizes[name] !== ours[name]);
    for (const name of changed) wish(name, sizes[name], sizes);
    if (changed.length) movedWords = "";
    Object.assign(ours, sizes);
    return changed.length > 0;
  }
  /** @type {(sizes: Sizes, valid: boolean) => void} */
  function showDials(sizes, valid) {
    derived.show(sizes.d_head === null);
    for (const name of names) {
      dials[name].node.classList.toggle("mhsa-stale", !valid && sizes[name] === null);
      if (sizes[name] !== null) dials[name].show(sizes[name], left(name, sizes, most));
      else if (valid) dials[name].show(sizes.d_model / sizes.n_heads);
    }
  }
  /** @type {(sizes: Sizes) => Fix[]} */
  const fixes = (sizes) =>
    repairs(sizes, most).map(([name, size]) => [`${name} = ${size}`, () => change(name, size)]);

  function draw() {
    const sizes = read();
    const moved = follow(sizes);
    const problem = problemOf(sizes);
    if (problem === null || moved) told = sizes;
    showDials(sizes, problem === null);
    if (problem === null) place.say({ rule: rule(sizes), change: movedWords });
    else place.say({ error: problem.replace(/;.*/, "."), fixes: fixes(sizes) });
    return problem === null;
  }
  const nodes = Object.fromEntries(names.map((name) => [name, dials[name].node]));
  return { nodes, derived: derived.node, notice: place.node, draw };
}

/** The width that d_head keeps when it is set free. @type {(sizes: Sizes, most: Most) => number} */
const ownWidth = ({ d_model, n_heads }, most) =>
  clamp(Math.round(d_model / n_heads), 1, most.d_head);
