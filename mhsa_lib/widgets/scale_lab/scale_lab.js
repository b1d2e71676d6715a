// The factor on the dot product against the width of a head: spread, saturation and gradient.

import { dial } from "../shared/dial.js";
import {
  SERIES,
  button,
  choice,
  el,
  frame,
  grouped,
  notice,
  spoken,
  svg,
  watch,
  write,
} from "../shared/kit.js";
import {
  FACTORS,
  TOKENS,
  WIDEST,
  average,
  axisFor,
  componentVariance,
  drawn,
  factor,
  histogram,
  measured,
  products,
  variance,
  verdict,
  weighed,
  widened,
} from "./saturation.js";

const NAMES = ["d_head", "scale", "temperature", "seed"];
const POWERS = Array.from({ length: 11 }, (_, i) => 2 ** i);
const BOX = { left: 26, right: 226, top: 10, bottom: 118 };
const BINS = 64;
const LOOKS = {
  entropy: { stroke: SERIES[0] },
  gradient: { stroke: SERIES[5], "stroke-dasharray": "5 3" },
};
const TEMPERATURES = [0.01, 0.1, 1, 10, 100, 1000]
  .flatMap((ten) => [ten, 2 * ten, 5 * ten])
  .concat(10_000);

/** A number in three digits, a large one in whole thousands apart. */
export function digits(value) {
  if (Math.abs(value) >= 1000) return grouped(value);
  return `${Number(value.toPrecision(3))}`.replace("-", "−");
}

/** The derivation of the variance, with the current numbers in it and what was measured. */
export function derivation(d_head, a, found) {
  const scores = a * a * d_head;
  return [
    ["One product qᵢ·kᵢ has mean 0 and variance 1 · 1.", 1, found.component],
    [
      `q·k adds d_head of them; they are independent, so variances add: ${d_head} · 1.`,
      d_head,
      found.dots,
    ],
    [`A factor counts squared: ${digits(a)}² · ${d_head}.`, scores, found.scores],
    ["The spread of the scores is its root.", Math.sqrt(scores), Math.sqrt(found.scores)],
  ];
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "scale-lab");
  const scales = Object.keys(FACTORS);
  const place = notice({ signal });
  const said = spoken();
  const cast = kept((seed) => {
    const vectors = drawn(seed);
    return { vectors, powers: products(vectors, POWERS) };
  });
  const means = kept((seed, rule, T) =>
    cast(seed).powers.map((rows, i) => average(weighed(rows, factor(rule, POWERS[i], T)))),
  );

  const width = dial({
    label: "d_head",
    unit: "column",
    max: WIDEST,
    value: model.get("d_head"),
    signal,
    wrong: place.wrong,
    change: (size) => write(model, "d_head", size),
  });
  const scale = choice({
    label: "scale",
    options: scales.map((name) => name.replace("sqrt(d_head)", "√d_head")),
    value: 0,
    signal,
    change: (i) => write(model, "scale", scales[i]),
  });
  const warmth = dial({
    label: "temperature",
    min: TEMPERATURES[0],
    max: TEMPERATURES.at(-1),
    stops: TEMPERATURES,
    whole: false,
    value: model.get("temperature"),
    signal,
    wrong: place.wrong,
    change: (value) => write(model, "temperature", value),
  });
  const again = button({
    label: "Draw again",
    signal,
    press: () => write(model, "seed", (model.get("seed") + 1) % 10_000),
  });
  const spread = chart("Scores of all pairs", "outline: variance 1");
  const sorted = chart("One query’s weights, sorted", `dashed: all equal, 1/${TOKENS}`);
  const across = chart("Mean shares, by d_head", [
    el("span", { class: "mhsa-solid", style: `color:${LOOKS.entropy.stroke}` }),
    " entropy ",
    el("span", { class: "mhsa-dashed", style: `color:${LOOKS.gradient.stroke}` }),
    " gradient",
  ]);
  const numbers = table("What the softmax makes of the scores", [
    "",
    "one query",
    `mean of ${TOKENS}`,
  ]);
  const steps = table("Where the variance comes from", ["", "derived", "measured"]);
  numbers.node.append(
    el(
      "p",
      { class: "mhsa-key" },
      `The gradient is the sum of |∂weight/∂score| over all ${TOKENS} × ${TOKENS} pairs of keys.`,
    ),
  );
  body.append(
    el("div", { class: "mhsa-controls" }, width.node, scale.node, warmth.node, again),
    place.node,
    el("div", { class: "mhsa-charts" }, spread.node, sorted.node, across.node),
    said.node,
    el("div", { class: "mhsa-tables" }, numbers.node, steps.node),
  );

  function draw() {
    const [d_head, rule, T, seed] = NAMES.map((name) => model.get(name));
    const a = factor(rule, d_head, T);
    place.say({});
    width.show(d_head);
    scale.show(scales.indexOf(rule));
    warmth.show(T);
    warmth.node.hidden = rule !== "1/temperature";
    const { vectors, powers } = cast(seed);
    const below = Math.floor(Math.log2(d_head));
    const dots = widened(powers[below], vectors, POWERS[below], d_head);
    const weights = weighed(dots, a);
    const [one, mean] = [measured(weights[0]), average(weights)];
    const found = { component: componentVariance(vectors, d_head), dots: variance(dots) };
    found.scores = a * a * found.dots;

    drawSpread(
      spread,
      dots.map((row) => row.map((dot) => dot * a)),
      a * Math.sqrt(d_head),
    );
    drawSorted(sorted, weights[0]);
    drawAcross(across, d_head, means(seed, rule, T));
    const most = measured(new Array(TOKENS).fill(1 / TOKENS));
    numbers.show([
      [
        `entropy, of at most ${most.bits} bits`,
        `${digits(one.bits)} bits`,
        `${digits(mean.bits)} bits`,
      ],
      [`entropy as a share of log₂ ${TOKENS}`, percent(one.share), percent(mean.share)],
      ["largest weight", one.largest.toFixed(3), mean.largest.toFixed(3)],
      [
        `gradient, of at most ${digits(most.gradient)}`,
        one.gradient.toFixed(3),
        mean.gradient.toFixed(3),
      ],
    ]);
    steps.show(
      derivation(d_head, a, found).map(([why, derived, seen]) => [
        why,
        digits(derived),
        digits(seen),
      ]),
    );
    said.say(
      `d_head ${d_head}, scale ${digits(a)}: the scores have variance ${digits(found.scores)}, and the largest weight `
        + `is ${mean.largest.toFixed(2)} on average. ${verdict(mean)}`,
    );
  }

  watch(model, NAMES, draw, signal);
  draw();
  return end;
}

/** The same function, which remembers its last answer. */
function kept(compute) {
  let [last, answer] = [null, null];
  return (...args) => {
    if (`${args}` !== last) [last, answer] = [`${args}`, compute(...args)];
    return answer;
  };
}

const percent = (share) => `${Math.round(100 * share)} %`;

/** A titled drawing with room for axes; `fill` replaces what it holds. */
function chart(title, note) {
  const picture = svg("svg", { viewBox: "0 0 240 136", role: "img", "aria-label": title });
  const node = el(
    "div",
    { class: "mhsa-chart" },
    el("p", { class: "mhsa-title" }, title),
    picture,
    el("p", { class: "mhsa-key" }, note),
  );
  return { node, fill: (...parts) => picture.replaceChildren(...parts.flat()) };
}

const text = (x, y, words, anchor = "middle") =>
  svg("text", { x, y, "text-anchor": anchor }, words);
const line = (d, more = {}) => svg("path", { d, fill: "none", stroke: "currentColor", ...more });
const x = (share) => BOX.left + share * (BOX.right - BOX.left);
const y = (share) => BOX.bottom - share * (BOX.bottom - BOX.top);
const floor = () => line(`M${BOX.left} ${BOX.bottom}H${BOX.right}`, { class: "mhsa-axis" });
const percentages = () =>
  [0, 0.5, 1].flatMap((share) => [
    line(`M${BOX.left} ${y(share)}H${BOX.right}`, { class: "mhsa-axis" }),
    text(BOX.left - 4, y(share) + 4, `${share}`, "end"),
  ]);
const bars = (heights) =>
  svg("path", {
    class: "mhsa-bars",
    d: heights
      .map(
        (h, i) =>
          `M${x((i + 0.06) / heights.length)} ${BOX.bottom}V${y(h)}H${x((i + 0.94) / heights.length)}V${BOX.bottom}`,
      )
      .join(""),
  });

/** Both equally high, so that only their widths differ: the scores, and variance 1. */
function drawSpread({ fill }, scores, derived) {
  const bound = axisFor(derived);
  const counts = histogram(scores, bound, BINS);
  const most = Math.max(...counts);
  const bell = Array.from(
    { length: 241 },
    (_, i) => `${i ? "L" : "M"}${x(i / 240)} ${y(Math.exp(-(((i / 120 - 1) * bound) ** 2) / 2))}`,
  );
  fill(
    floor(),
    bars(counts.map((count) => count / most)),
    line(bell.join(""), { class: "mhsa-bell" }),
    [-bound, 0, bound].map((score, i) =>
      text(x(i / 2), 133, digits(score), ["start", "middle", "end"][i]),
    ),
  );
}

function drawSorted({ fill }, weights) {
  const heights = [...weights].sort((a, b) => b - a);
  fill(
    percentages(),
    bars(heights),
    line(`M${BOX.left} ${y(1 / TOKENS)}H${BOX.right}`, { class: "mhsa-bell" }),
    text(x(0), 133, "largest", "start"),
    text(x(1), 133, "smallest", "end"),
  );
}

/** Entropy and gradient at every power of two under the same rule, and where the reader is. */
function drawAcross({ fill }, d_head, means) {
  const at = (size) => x(Math.log2(size) / 10);
  const most = 2 * (1 - 1 / TOKENS);
  const shares = {
    entropy: means.map(({ share }) => share),
    gradient: means.map(({ gradient }) => gradient / most),
  };
  const curve = ([name, values]) =>
    line(values.map((share, i) => `${i ? "L" : "M"}${at(POWERS[i])} ${y(share)}`).join(""), {
      "stroke-width": 2,
      ...LOOKS[name],
    });
  fill(
    percentages(),
    line(`M${at(d_head)} ${BOX.top}V${BOX.bottom}`, { class: "mhsa-here" }),
    Object.entries(shares).map(curve),
    [1, 4, 16, 64, 256, 1024].map((size) => text(at(size), 133, `${size}`)),
  );
}

/** A table with words in its first column and numbers in the others. */
function table(title, head) {
  const rows = el("tbody");
  const top = el(
    "tr",
    {},
    head.map((name, i) => (i ? el("th", { scope: "col", class: "mhsa-number" }, name) : el("td"))),
  );
  const node = el(
    "div",
    { class: "mhsa-table" },
    el("p", { class: "mhsa-title" }, title),
    el("table", { "aria-label": title }, el("thead", {}, top), rows),
  );
  const row = ([name, ...numbers]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      numbers.map((number) => el("td", { class: "mhsa-number" }, number)),
    );
  return { node, show: (lines) => rows.replaceChildren(...lines.map(row)) };
}

export default { render };
