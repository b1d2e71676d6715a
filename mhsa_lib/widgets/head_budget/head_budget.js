// Heads against width: a point that moves on the line of constant parameters, and what follows.

import { counted, el, frame, grouped, short, spoken, svg, watch, writeAll } from "../shared/kit.js";
import { change, headBudget, logScale } from "../shared/costs.js";
import { sizeControls } from "../shared/sizes.js";

const BUDGET_DIALS = { d_model: 16_384, n_heads: 512, d_head: 16_384, seq: 131_072 };
const MOST_BANDS = 128;
const CHART = { height: 270, left: 46, right: 30, top: 24, bottom: 40 };

/** The whole budget in a few sentences. */
export function budgetSummary({ d_model, n_heads, d_head }) {
  const [heads, width] = [n_heads === 1 ? "1 head" : `${grouped(n_heads)} heads`, n_heads * d_head];
  const free =
    width === d_model
      ? ""
      : ` Here n_heads · d_head is ${grouped(width)}, not d_model: `
        + `parameters ${change(d_model, width)} compared with d_head = d_model / n_heads.`;
  const [now, one] = [d_head, width].map((most) => grouped(Math.min(most, d_model)));
  const each =
    n_heads === 1
      ? "Each query gets one distribution."
      : `Each query gets ${grouped(n_heads)} distributions instead of 1, and each score compares in at most `
        + `${now} directions${now === one ? ", as with one head" : ` instead of ${one}`}.`;
  return (
    `${heads} of width ${grouped(d_head)} ${n_heads === 1 ? "costs" : "cost"} the parameters and products of one head of width `
    + `${grouped(width)}. ${each}${free}`
  );
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "head-budget");
  const names = Object.keys(BUDGET_DIALS);
  const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const controls = sizeControls({
    most: BUDGET_DIALS,
    read,
    signal,
    put: (changes) => writeAll(model, changes),
  });
  const said = spoken();
  const chart = el("div", { class: "mhsa-chart" });
  const bands = el("div", { class: "mhsa-bands" });
  const rows = el("tbody");
  const tokens = el("th", { scope: "col" });
  const titles = ["one head", "now", "change"].map((title) =>
    el("th", { scope: "col", class: "mhsa-number" }, title),
  );
  const table = el(
    "table",
    { "aria-label": "What the number of heads changes" },
    el("thead", {}, el("tr", {}, tokens, titles)),
    rows,
  );
  const picture = el(
    "div",
    { class: "mhsa-beside" },
    el("div", { class: "mhsa-pictures" }, chart, bands),
    el("div", { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": "Budget" }, table),
  );
  body.append(
    el("div", { class: "mhsa-controls" }, Object.values(controls.nodes), controls.derived),
    controls.notice,
    picture,
    said.node,
    el(
      "p",
      { class: "mhsa-quiet" },
      "Rings, BLEU / perplexity: Vaswani et al., Table 3, rows (A), d_model 512, "
        + "English to German, newstest2013. One run each, on the development set: no ranking.",
    ),
  );

  function draw() {
    const given = read();
    const valid = controls.draw();
    picture.hidden = !valid && !rows.hasChildNodes();
    if (!valid) return;
    const sizes = { ...given, d_head: given.d_head ?? given.d_model / given.n_heads };
    tokens.textContent = sizes.seq === 1 ? "for 1 token" : `for ${grouped(sizes.seq)} tokens`;
    chart.replaceChildren(tradeOff(sizes, model.get("trained"), chart.clientWidth || 420));
    bands.replaceChildren(bandsOf(sizes));
    rows.replaceChildren(...headBudget(sizes).map(budgetLine));
    said.say(budgetSummary(sizes));
  }

  watch(model, names, draw, signal);
  const resized = new ResizeObserver(draw);
  signal.addEventListener("abort", () => resized.disconnect());
  draw();
  resized.observe(chart);
  return end;
}

function budgetLine({ name, one, now }) {
  const count = (value) =>
    el("td", { class: "mhsa-number" }, value < 1e8 ? grouped(value) : short(value));
  const moved = one !== now;
  return el(
    "tr",
    { class: moved ? "mhsa-moved" : null },
    el("th", { scope: "row" }, name),
    count(one),
    count(now),
    el("td", { class: "mhsa-number" }, change(one, now)),
  );
}

/** Heads across, width up, both in powers of two; models of one budget lie on one falling line. */
function tradeOff({ n_heads, d_head }, trained, width) {
  const { height, left, right, top, bottom } = CHART;
  const most = Math.max(512, n_heads * d_head);
  const farthest = Math.max(64, n_heads);
  const x = logScale(1, farthest, left, width - right);
  const y = logScale(1, most, height - bottom, top);
  const label = (text, at) => svg("text", at, text);
  const line = (product, kind) => {
    const last = Math.min(product, farthest);
    return svg("line", {
      x1: x(1),
      y1: y(product),
      x2: x(last),
      y2: y(product / last),
      class: kind,
    });
  };
  const across = Array.from({ length: Math.floor(Math.log2(farthest)) + 1 }, (_, i) =>
    label(`${2 ** i}`, {
      x: x(2 ** i),
      y: height - bottom + 16,
      "text-anchor": "middle",
      class: "mhsa-tick",
    }),
  );
  const up = [1, 8, 64, 512, 4096, 32_768, 262_144, 2_097_152]
    .filter((v) => v <= most)
    .flatMap((v) => [
      svg("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "mhsa-grid" }),
      label(v < 1e5 ? `${v}` : short(v), {
        x: left - 6,
        y: y(v) + 4,
        "text-anchor": "end",
        class: "mhsa-tick",
      }),
    ]);
  const told = []; // numbers that would run into others are left out
  const dots = trained.flatMap((run) => {
    const [cx, cy] = [x(run.n_heads), y(512 / run.n_heads)];
    const free = told.every(([left, line]) => Math.abs(cx - left) > 62 || Math.abs(cy - line) > 12);
    if (free) told.push([cx, cy]);
    return [
      svg("circle", { cx, cy, r: 4, class: "mhsa-run" }),
      free
        ? label(`${run.bleu.toFixed(1)} / ${run.perplexity.toFixed(2)}`, {
            x: cx + 9,
            y: cy - 6,
            class: "mhsa-tick",
          })
        : null,
    ];
  });
  const [px, py] = [x(n_heads), y(d_head)];
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Width of a head over the number of heads, with ${n_heads} heads of width ${d_head} marked.`,
    },
    up,
    across,
    line(512, "mhsa-paper-line"),
    line(n_heads * d_head, "mhsa-budget-line"),
    dots,
    svg("path", { d: `M${px} ${py}V${height - bottom}M${px} ${py}H${left}`, class: "mhsa-drop" }),
    svg("circle", { cx: px, cy: py, r: 7, class: "mhsa-now" }),
    label("n_heads", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }),
    label("d_head", {
      x: 12,
      y: (top + height - bottom) / 2,
      "text-anchor": "middle",
      transform: `rotate(-90 12 ${(top + height - bottom) / 2})`,
    }),
  );
}

/** The columns of W_Q, one band for each head. */
function bandsOf({ d_model, n_heads, d_head }) {
  const shown = Math.min(n_heads, MOST_BANDS);
  const band = (i) =>
    svg("rect", {
      x: (100 * i) / shown,
      y: 0,
      width: 100 / shown,
      height: 10,
      class: i % 2 ? "mhsa-odd" : "mhsa-even",
    });
  const more = n_heads > shown ? ` (${shown} of them drawn)` : "";
  return el(
    "div",
    {},
    svg(
      "svg",
      { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      Array.from({ length: shown }, (_, i) => band(i)),
    ),
    el(
      "p",
      { class: "mhsa-quiet" },
      `W_Q, ${grouped(d_model)} × ${grouped(n_heads * d_head)}: `
        + `${counted(n_heads, "band")} of ${counted(d_head, "column")}${more}`,
    ),
  );
}

export default { render };
