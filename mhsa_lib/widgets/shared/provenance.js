// One forward pass with every number on record: its wires, and for each number the numbers it was
// made of. A place is a wire's name with indices: ["q", 0, 1] is q[0, 1].

import { beside, columns, matmul, softmaxRow, transpose } from "./tensor.js";
import { fixed } from "./kit.js";

export const INPUTS = ["x", "W_Q", "W_K", "W_V", "W_O"];

/** Rows, columns and, before them, heads; in the order in which a pass needs them. */
export const AXES = {
  x: ["query", "d_model"],
  W_Q: ["d_model", "d_heads"],
  W_K: ["d_model", "d_kv_heads"],
  W_V: ["d_model", "d_kv_heads"],
  q: ["query", "d_heads"],
  k: ["key", "d_kv_heads"],
  v: ["key", "d_kv_heads"],
  q_heads: ["head", "query", "d_head"],
  k_heads: ["kv_head", "key", "d_head"],
  v_heads: ["kv_head", "key", "d_head"],
  dots: ["head", "query", "key"],
  scores: ["head", "query", "key"],
  mask: ["query", "key"],
  masked: ["head", "query", "key"],
  weights: ["head", "query", "key"],
  z: ["head", "query", "d_head"],
  concat: ["query", "d_heads"],
  W_O: ["d_heads", "d_model"],
  y: ["query", "d_model"],
};

/** The inputs and every wire; `mask` is true where a query may look. */
export function forward({ x, W_Q, W_K, W_V, W_O, mask, n_heads }) {
  const [q, k, v] = [W_Q, W_K, W_V].map((W) => matmul(x, W));
  const d_head = W_Q[0].length / n_heads;
  const split = (rows) => upTo(n_heads).map((h) => columns(rows, h * d_head, (h + 1) * d_head));
  const [q_heads, k_heads, v_heads] = [q, k, v].map(split);
  const dots = q_heads.map((rows, h) => matmul(rows, transpose(k_heads[h])));
  const every = (heads, f) =>
    heads.map((rows) => rows.map((row, i) => row.map((s, j) => f(s, i, j))));
  const scores = every(dots, (s) => s / Math.sqrt(d_head));
  const masked = every(scores, (s, i, j) => (mask[i][j] ? s : -Infinity));
  const weights = masked.map((rows) => rows.map((row) => softmaxRow(row)));
  const z = weights.map((rows, h) => matmul(rows, v_heads[h]));
  const concat = beside(z);
  return {
    x,
    W_Q,
    W_K,
    W_V,
    q,
    k,
    v,
    q_heads,
    k_heads,
    v_heads,
    dots,
    scores,
    mask,
    masked,
    weights,
    z,
    concat,
    W_O,
    y: matmul(concat, W_O),
  };
}

export const numberAt = (wires, [wire, ...at]) => at.reduce((rows, i) => rows?.[i], wires[wire]);

export const placeName = ([wire, ...at]) => `${wire}[${at.join(", ")}]`;

const upTo = (n) => Array.from({ length: n }, (_, i) => i);

const product =
  (a, b) =>
  ([i, j], wires) =>
    wires[b].map((_, c) => [
      [a, i, c],
      [b, c, j],
    ]);

const cut =
  (rows) =>
  ([h, i, j], { z }) => [[[rows, i, h * z[0][0].length + j]]];

const TERMS = {
  q: product("x", "W_Q"),
  k: product("x", "W_K"),
  v: product("x", "W_V"),
  y: product("concat", "W_O"),
  q_heads: cut("q"),
  k_heads: cut("k"),
  v_heads: cut("v"),
  dots: ([h, i, k], { z }) =>
    z[0][0].map((_, c) => [
      ["q_heads", h, i, c],
      ["k_heads", h, k, c],
    ]),
  scores: (at) => [[["dots", ...at]]],
  masked: ([h, i, k]) => [
    [
      ["scores", h, i, k],
      ["mask", i, k],
    ],
  ],
  weights: ([h, i], { x }) => x.map((_, k) => [["masked", h, i, k]]),
  z: ([h, i, j], { x }) =>
    x.map((_, k) => [
      ["weights", h, i, k],
      ["v_heads", h, k, j],
    ]),
  concat: ([i, c], { z }) => {
    const width = z[0][0].length;
    return [[["z", Math.floor(c / width), i, c % width]]];
  },
};

/** The places a number was computed from; none for an input. */
export const parents = ([wire, ...at], wires) => (TERMS[wire]?.(at, wires) ?? []).flat();

/** The places that a number's parents come from, all the way to the inputs. */
export const ancestors = (place, wires) => closure(place, (one) => parents(one, wires));

/** The same, whatever `of` gives as the parents of a place. */
export function closure(place, of) {
  const found = new Map();
  const visit = (one) => {
    for (const older of of(one)) {
      if (found.has(older.join(" "))) continue;
      found.set(older.join(" "), older);
      visit(older);
    }
  };
  of(place).forEach(visit);
  return [...found.values()];
}

// --- numbers in words --------------------------------------------------------------------------

/** The fewest decimals, 2 to 4, that show all of the first four of every number. */
export function decimals(values) {
  const enough = (v, d) => Number(v.toFixed(d)) === Number(v.toFixed(4));
  const need = (v) =>
    Number.isFinite(v) && Math.abs(v) < 1e4 ? [2, 3, 4].find((d) => enough(v, d)) : 2;
  return Math.max(...values.map(need));
}

/** A number that stays short: powers of ten from 10,000 on, and below what four decimals show. */
export function numeral(value, places = decimals([value])) {
  const size = Math.abs(value);
  const shown = (size < 1e4 && size >= 5e-5) || size < 1e-12 || !Number.isFinite(value);
  return shown
    ? fixed(value, places)
    : value.toExponential(2).replace("e+", "e").replaceAll("-", "−");
}

/** How a number was made, written out. */
export function arithmetic(place, wires) {
  const [wire, ...at] = place;
  const value = (one) => numeral(numberAt(wires, one));
  const factor = (one) => (value(one).startsWith("−") ? `(${value(one)})` : value(one));
  const terms = TERMS[wire]?.(at, wires);
  const name = placeName(place);
  const result = wire === "mask" ? null : value(place);
  if (INPUTS.includes(wire)) return `${name} = ${result}, an input.`;
  switch (wire) {
    case "mask":
      return `${name}: query ${at[0]} ${numberAt(wires, place) ? "may" : "may not"} look at key ${at[1]}.`;
    case "q_heads":
    case "k_heads":
    case "v_heads":
    case "concat":
      return `${name} = ${placeName(terms[0][0])} = ${result}: the same number, moved.`;
    case "scores":
      return `${name} = ${value(terms[0][0])} / √${wires.z[0][0].length} = ${result}`;
    case "masked":
      return (
        `${name} = ${result}: query ${at[1]} ${numberAt(wires, terms[0][1]) ? "may" : "may not"} look at key ${at[2]}`
        + (Number.isFinite(numberAt(wires, place)) ? ", its score stays." : ".")
      );
    case "weights":
      return softmaxWords(
        name,
        at,
        terms.map(([one]) => numberAt(wires, one)),
        result,
      );
    default:
      return `${name} = ${terms.map((term) => term.map(factor).join("·")).join(" + ")} = ${result}`;
  }
}

function softmaxWords(name, [, query, key], row, result) {
  const top = Math.max(...row);
  if (top === -Infinity)
    return `${name} = 0: query ${query} may look at no key, so its weights are zeros.`;
  const power = (s) => `exp(${numeral(s)})`;
  const words = `${name} = ${power(row[key])} / (${row.map(power).join(" + ")}) = ${result}`;
  if (top > 700) return `${words}; the largest score is taken off first, or exp would overflow.`;
  return row.includes(-Infinity) ? `${words}, since exp(−∞) = 0.` : words;
}

/** A typed number as `{ value }`, or `{ wrong }`: the reason it is refused. */
export function typedNumber(text, largest) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  const range = `Type a number from −${largest} to ${largest}.`;
  if (plain === "") return { wrong: `The field is empty. ${range}` };
  const value = /^[-+]?(inf(inity)?|∞)$/i.test(plain) ? Infinity : Number(plain);
  if (Number.isNaN(value))
    return { wrong: `“${[...text.trim()].slice(0, 20).join("")}” is not a number. ${range}` };
  if (!Number.isFinite(value))
    return { wrong: `An infinite number makes NaN in the next product. ${range}` };
  if (Math.abs(value) > largest)
    return {
      wrong: `${[...plain].slice(0, 20).join("")} is too large to follow by hand. ${range}`,
    };
  return { value };
}
