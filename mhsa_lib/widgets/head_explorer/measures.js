// Numbers about attention weights, as mhsa_lib.measure has them. Weights lie flat, head after
// head, row after row: `shape` is [layers, heads, queries, keys].

/** What a head is measured by, and what that says. */
export const MEASURES = {
  entropy: "how spread its weights are, in nats",
  distance: "mean distance to what it looks at, in tokens",
  previous: "mean weight on the token before",
  own: "mean weight on the own token",
  next: "mean weight on the token after",
  first: "mean weight on the first key",
  confidence: "mean of each query's largest weight",
};

const ELSEWHERE = ["entropy", "first", "confidence"];

/** The measures that mean something: to keys that are other tokens there is no distance. */
export const fitting = ({ tokens, keys }) =>
  Object.keys(MEASURES).filter(
    (name) =>
      ELSEWHERE.includes(name) || tokens.every((token, i) => token === keys.at(i - tokens.length)),
  );

/** 16-bit numbers, low byte first, as weights: 65535 is 1, and only exactly 0 is 0. */
export function unpack(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const weights = new Float64Array(data.byteLength / 2);
  for (let i = 0; i < weights.length; i += 1) weights[i] = view.getUint16(2 * i, true) / 65535;
  return weights;
}

/** The positions of the tokens that are not hidden. */
export const kept = (tokens, hidden) =>
  tokens.map((_, i) => i).filter((i) => !hidden.includes(tokens[i]));

/** Weights of all heads at these rows and columns; `divide` makes each row sum to 1 again. */
export function pick(weights, shape, rows, columns, divide = false) {
  const [layers, heads, queries, keys] = shape;
  const picked = new Float64Array(layers * heads * rows.length * columns.length);
  let at = 0;
  for (let head = 0; head < layers * heads; head += 1) {
    for (const row of rows) {
      const from = (head * queries + row) * keys;
      let sum = 0;
      for (let j = 0; j < columns.length; j += 1) {
        picked[at + j] = weights[from + columns[j]];
        sum += picked[at + j];
      }
      if (divide && sum > 0) for (let j = 0; j < columns.length; j += 1) picked[at + j] /= sum;
      at += columns.length;
    }
  }
  return picked;
}

/** Every measure of the head whose first weight lies at `from`; NaN where there is nothing to
 * measure. Positions count from the end, as queries are the last positions of the keys. */
export function measure(weights, from, queries, keys) {
  const diagonal = [0, 0, 0]; // previous, own, next
  const pairs = [0, 0, 0];
  let [entropy, distance, first, confidence] = [0, 0, 0, 0];
  for (let query = 0; query < queries; query += 1) {
    const row = from + query * keys;
    const own = query + keys - queries;
    let largest = 0;
    for (let key = 0; key < keys; key += 1) {
      const weight = weights[row + key];
      if (weight > 0) entropy -= weight * Math.log(weight);
      if (weight > largest) largest = weight;
      distance += weight * Math.abs(key - own);
    }
    confidence += largest;
    first += weights[row];
    for (let side = 0; side < 3; side += 1) {
      const key = own + side - 1;
      if (key < 0 || key >= keys) continue;
      diagonal[side] += weights[row + key];
      pairs[side] += 1;
    }
  }
  const [previous, own, next] = diagonal.map((sum, side) => sum / pairs[side]);
  const mean = (sum) => sum / queries;
  return {
    entropy: mean(entropy),
    distance: mean(distance),
    previous,
    own,
    next,
    first: mean(first),
    confidence: mean(confidence),
  };
}

/** Measures by head, taken when they are asked for. */
export function measuring(weights, queries, keys) {
  const known = [];
  return (head) => (known[head] ??= measure(weights, head * queries * keys, queries, keys));
}

/** How alike two heads look: 1 for the same rows, 0 for rows without a common key. */
export function agreement(weights, one, other, queries, keys) {
  const part = (w) => (w > 0 ? -w * Math.log2(w) : 0);
  const [a, b] = [one * queries * keys, other * queries * keys];
  let divergence = 0;
  for (let i = 0; i < queries * keys; i += 1) {
    const [p, q] = [weights[a + i], weights[b + i]];
    divergence += part((p + q) / 2) - (part(p) + part(q)) / 2;
  }
  return 1 - divergence / queries;
}

/** `n` heads in the order of a measure, largest first; in the model's own for any other name. */
export function ranked(n, measuresOf, name) {
  const order = Array.from({ length: n }, (_, i) => i);
  if (!(name in MEASURES)) return order;
  const values = order.map((i) => measuresOf(i)[name]);
  const value = (i) => (Number.isNaN(values[i]) ? -Infinity : values[i]);
  return order.sort((i, j) => value(j) - value(i) || i - j);
}

/** The `n` largest of some weights with their places; what rounds to 0.0000 is left out. */
export function strongest(weights, n) {
  return weights
    .map((weight, place) => ({ weight, place }))
    .filter(({ weight }) => weight >= 0.00005)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, n);
}

/** Heads as lines of numbers and tokens that a spreadsheet opens, none of it as a formula. */
export function csv(heads, queries, keys) {
  const quote = (text) =>
    `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const lines = ["layer,head,query,key,query token,key token,weight"];
  for (const { layer, head, weights } of heads) {
    queries.forEach((query, i) =>
      keys.forEach((key, j) => {
        const weight = Number(weights[i * keys.length + j].toFixed(6));
        lines.push(
          [layer, head, query.at, key.at, quote(query.token), quote(key.token), weight].join(","),
        );
      }),
    );
  }
  return `${lines.join("\r\n")}\r\n`;
}
