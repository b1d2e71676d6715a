// Sizes that hold each other: n_heads divides d_model unless d_head is set, and n_kv_heads divides
// n_heads. A dial goes over what these rules leave, and what depends on it moves along.

import { dial, doublings, nearest } from "./dial.js";
import { check, clamp, notice } from "./kit.js";
import { wrongSizes } from "./ledger.js";

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

/** Powers of two and three times them: the sizes of most models lie there. */
export const roundSizes = (most) =>
  doublings(most)
    .flatMap((size) => [size, 1.5 * size])
    .filter((size) => Number.isInteger(size) && size <= most);

export const divisors = (size, most) =>
  Array.from({ length: Math.min(size, most) }, (_, i) => i + 1).filter((part) => size % part === 0);

const tied = ({ d_model, d_head }) => d_model !== undefined && d_head === null;

/** The values that the others leave a size, or null where no rule speaks of it. */
export function left(name, sizes, most) {
  if (name === "n_heads" && tied(sizes)) return divisors(sizes.d_model, most.n_heads);
  return name === "n_kv_heads" ? divisors(sizes.n_heads, most.n_kv_heads) : null;
}

/** What is wrong with sizes of which some may not be there, in the words of the library; or null. */
export const problemOf = (sizes) =>
  wrongSizes({ d_model: 0, d_head: 0, n_kv_heads: sizes.n_heads, ...sizes });

/**
 * Sizes after `name` was changed: those that depend on it go to the valid size nearest to what
 * was wished for them, so that on the way back they come back too. Heads for keys that were as
 * many as all heads (the wish is null) stay as many.
 */
export function settled(sizes, name, wished, most) {
  const after = { ...sizes };
  const moves = (part) =>
    part in sizes && part !== name && ["d_model", "d_head", "n_heads"].includes(name);
  if (moves("n_heads") && tied(after))
    after.n_heads = nearest(left("n_heads", after, most), wished.n_heads);
  if (moves("n_kv_heads"))
    after.n_kv_heads = nearest(left("n_kv_heads", after, most), wished.n_kv_heads ?? after.n_heads);
  return after;
}

/** What moved along, and why. */
export function movedInWords(before, after, name) {
  const why = {
    n_heads: () => `the nearest that divides d_model ${after.d_model}`,
    n_kv_heads: () =>
      after.n_kv_heads === after.n_heads
        ? "as many as n_heads"
        : `the nearest that divides n_heads ${after.n_heads}`,
  };
  return Object.keys(why)
    .filter((part) => part !== name && before[part] !== after[part])
    .map((part) => `${part} ${before[part]} → ${after[part]}, ${why[part]()}.`)
    .join(" ");
}

/** The rules that hold, with the numbers in them. */
export function lawInWords({ d_model, n_heads, n_kv_heads, d_head }) {
  const heads =
    d_model === undefined
      ? ""
      : d_head === null
        ? `n_heads divides d_model: ${d_model} / ${n_heads} = ${d_model / n_heads} = d_head. `
        : "d_head has its own size, so n_heads need not divide d_model. ";
  return (
    heads
    + (n_kv_heads === undefined
      ? ""
      : `n_kv_heads divides n_heads: ${n_heads} / ${n_kv_heads} = ${n_heads / n_kv_heads}.`)
  );
}

/** Single changes that make the sizes valid, as [name, size]. */
export function repairs(sizes, most) {
  const { d_model, n_heads, n_kv_heads } = sizes;
  const around = (name) => {
    const valid = left(name, sizes, most);
    return [
      valid.findLast((size) => size < sizes[name]),
      valid.find((size) => size > sizes[name]),
    ].map((size) => [name, size]);
  };
  const below = d_model - (d_model % n_heads);
  const tries =
    tied(sizes) && d_model % n_heads
      ? [
          ...around("n_heads"),
          ["d_model", below],
          ["d_model", below + n_heads],
          ["d_head", Math.round(d_model / n_heads)],
        ]
      : [...around("n_kv_heads"), ["n_heads", n_heads + n_kv_heads - (n_heads % n_kv_heads)]];
  return tries.filter(
    ([name, size]) =>
      size >= 1
      && size <= most[name]
      && problemOf(settled({ ...sizes, [name]: size }, name, sizes, most)) === null,
  );
}

/**
 * Dials for the sizes in `most`, a switch for d_head = d_model / n_heads, and the notice under
 * them. `read` gives all sizes, `put` takes those that changed, and `draw` shows the sizes and
 * returns whether they go together; `law` tells the rules that hold.
 */
export function sizeControls({
  most,
  read,
  put,
  signal,
  law = "n_heads" in most ? lawInWords : () => "",
}) {
  const names = Object.keys(most);
  const place = notice({ signal, tall: "n_heads" in most });
  const start = read();
  const [wished, ours] = [{}, {}];
  let along = "";
  let told = start; // the last sizes that went together, and what was asked for since

  const dials = Object.fromEntries(
    names.map((name) => [
      name,
      dial({
        label: name,
        unit: UNITS[name],
        max: most[name],
        stops: DOUBLED.includes(name) ? doublings(most[name]) : roundSizes(most[name]),
        value: start[name] ?? 1,
        signal,
        wrong: place.wrong,
        change: (size) => change(name, size),
      }),
    ]),
  );
  const derived = check({
    label: "d_head = d_model / n_heads",
    value: start.d_head === null,
    signal,
    change: (on) =>
      change(
        "d_head",
        on ? null : clamp(Math.round(read().d_model / read().n_heads), 1, most.d_head),
      ),
  });

  function wish(name, size, { n_heads }) {
    wished[name] = name === "n_kv_heads" && size === n_heads ? null : size;
  }
  function change(name, size) {
    const before = read();
    wish(name, size, before);
    const after = settled({ ...before, [name]: size }, name, wished, most);
    along = movedInWords(told, after, name);
    told = { ...told, [name]: size };
    if (name === "d_head" && before.d_head === null)
      along += ` d_head is no longer d_model / n_heads.`;
    Object.assign(ours, after);
    const changes = Object.entries(after).filter(([part, value]) => value !== before[part]);
    if (changes.length) put(Object.fromEntries(changes));
  }
  function draw() {
    const sizes = read();
    const changed = names.filter((name) => sizes[name] !== ours[name]); // by Python, or a model that was chosen
    for (const name of changed) wish(name, sizes[name], sizes);
    if (changed.length) along = "";
    Object.assign(ours, sizes);
    derived.show(sizes.d_head === null);
    const problem = problemOf(sizes);
    if (problem === null || changed.length) told = sizes;
    for (const name of names) {
      dials[name].node.classList.toggle("mhsa-stale", problem !== null && sizes[name] === null);
      if (sizes[name] !== null) dials[name].show(sizes[name], left(name, sizes, most));
      else if (problem === null) dials[name].show(sizes.d_model / sizes.n_heads);
    }
    const offers =
      problem === null
        ? []
        : repairs(sizes, most).map(([name, size]) => [
            `${name} = ${size}`,
            () => change(name, size),
          ]);
    place.say(
      problem === null
        ? { law: law(sizes), along }
        : { wrong: problem.replace(/;.*/, "."), offers },
    );
    return problem === null;
  }
  return {
    nodes: Object.fromEntries(names.map((name) => [name, dials[name].node])),
    derived: derived.node,
    notice: place.node,
    draw,
  };
}
