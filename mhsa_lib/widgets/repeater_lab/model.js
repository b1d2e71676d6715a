// The trained model on plain arrays: the same forward pass as mhsa_lib.pretrained.repeater, and the same words
// for a text that it cannot read.

import { dot, softmaxRow } from "../shared/tensor.js";

/** Numbers of half precision, two bytes each, lowest byte first. */
export function halves(raw) {
  return Float64Array.from({ length: raw.length / 2 }, (_, i) => {
    const bits = raw[2 * i] + 256 * raw[2 * i + 1];
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size =
      exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
    if (exponent === 31) return NaN; // weights are finite; anything else is a damaged file
    return bits & 0x8000 ? -size : size;
  });
}

/** The model's matrices by name, each a list of rows, from their layout [[name, rows, columns], …]. */
export function unpack(raw, layout) {
  const numbers = halves(raw);
  let at = 0;
  return Object.fromEntries(
    layout.map(([name, rows, columns]) => {
      const matrix = Array.from({ length: rows }, (_, i) =>
        numbers.subarray(at + i * columns, at + (i + 1) * columns),
      );
      at += rows * columns;
      return [name, matrix];
    }),
  );
}

/** The nearest text that the model reads: without characters it has not learned, and cut; or null. */
export function readable(text, alphabet, maxTokens) {
  const known = [...text]
    .map((c) => (/[A-Z]/.test(c) ? c.toLowerCase() : c))
    .filter((c) => alphabet.includes(c));
  return known.slice(0, maxTokens - 1).join("") || null;
}

/** Ids of the start token and of every character, or in words why there are none. */
export function encoded(text, alphabet, maxTokens) {
  const reads = "it reads a to z, 0 to 9 and the space.";
  const characters = [...text];
  if (characters.length === 0) return { problem: `the text is empty; ${reads}` };
  if (characters.length >= maxTokens) {
    return {
      problem: `the text has ${characters.length} characters, the model has positions for ${maxTokens - 1}; shorten it.`,
    };
  }
  const ids = characters.map((c) => alphabet.indexOf(/[A-Z]/.test(c) ? c.toLowerCase() : c));
  const place = ids.indexOf(-1);
  if (place === -1) return { ids: [alphabet.length, ...ids] };
  const character = characters[place];
  const code = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const name = /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `“${character}” (${code})` : code;
  return {
    problem: `character ${place + 1}, ${name}, is not one that the model has learned; ${reads}`,
  };
}

/** Probabilities of the next token (seq, token) and weights (layer, head, query, key); `off` holds [layer, head] pairs. */
export function run(model, ids, nLayers, nHeads, off = []) {
  let stream = ids.map((id, i) => sum(model.tokens[id], model.positions[i]));
  const weights = [];
  for (let layer = 0; layer < nLayers; layer += 1) {
    const silent = off.filter(([l]) => l === layer).map(([, head]) => head);
    const [q, k, v] = ["W_Q", "W_K", "W_V"].map((name) =>
      linear(stream, model[`${layer}.${name}`]),
    );
    const width = q[0].length / nHeads;
    const concat = ids.map(() => new Float64Array(q[0].length));
    weights.push(
      Array.from({ length: nHeads }, (_, head) => {
        const own = (rows) => rows.map((row) => row.subarray(head * width, (head + 1) * width));
        const [queries, keys, values, z] = [q, k, v, concat].map(own);
        const looks = queries.map((query, i) => {
          const seen = keys.slice(0, i + 1); // causal: the later keys are not even compared
          return softmaxRow(seen.map((key) => dot(query, key) / Math.sqrt(width)));
        });
        if (!silent.includes(head)) z.forEach((row, i) => mixInto(row, looks[i], values));
        return looks.map((row) => [...row, ...Array(ids.length - row.length).fill(0)]);
      }),
    );
    stream = linear(concat, model[`${layer}.W_O`]).map((row, i) => sum(row, stream[i]));
  }
  return {
    probabilities: linear(stream, model.unembed).map((row) => softmaxRow([...row])),
    weights,
  };
}

/** Rows times a weight that is stored as nn.Linear stores it, (out, in). */
function linear(rows, weight) {
  return rows.map((row) => {
    const out = new Float64Array(weight.length);
    for (let i = 0; i < weight.length; i += 1) out[i] = dot(row, weight[i]);
    return out;
  });
}

function sum(a, b) {
  return a.map((value, i) => value + b[i]);
}

function mixInto(row, looks, values) {
  for (let k = 0; k < looks.length; k += 1) {
    for (let i = 0; i < row.length; i += 1) row[i] += looks[k] * values[k][i];
  }
}

/** Places of the `n` largest numbers, largest first. */
export function largest(numbers, n) {
  return [...numbers.keys()].sort((a, b) => numbers[b] - numbers[a]).slice(0, n);
}
