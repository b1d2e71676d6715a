// Which head wrote this coordinate: bars cut into what each head added, over the rows of W_O that
// each head owns, and the selected number written out.

import {
  SERIES,
  check,
  choice,
  el,
  fixed,
  frame,
  rove,
  spoken,
  svg,
  uid,
  watch,
  write,
} from "../shared/kit.js";
import { quoted, spelled } from "../shared/tokens.js";
import { apart, product, reach, stacked, summed, ticks, written } from "./sums.js";

const STEP = 26; // width of a coordinate
const GUTTER = 84; // room for names on the left
const BARS = { top: 8, height: 190 };
const ROW = 15; // height of a row of W_O
const HATCHES = ["", "M0 6L6 0", "M3 3h.1", "M0 0L6 6M0 6L6 0", "M0 0L6 6", "M0 3H6"];

/** Terms in a sum with true minus signs: 0.5 − 0.25. */
export function signed(values) {
  return values
    .map((value, i) => {
      const size = fixed(Math.abs(value), 3);
      if (i === 0) return fixed(value, 3);
      return value < 0 ? `− ${size}` : `+ ${size}`;
    })
    .join(" ");
}

/** The picture in a sentence. */
export function told(names, values, token, coordinate, off) {
  const total = values.reduce((sum, value, i) => (off.includes(i) ? sum : sum + value), 0);
  const parts = values.map(
    (value, i) => `${names[i]} ${off.includes(i) ? "is off" : `wrote ${fixed(value, 3)}`}`,
  );
  return `Coordinate ${coordinate} of y for ${quoted(token)} is ${fixed(total, 3)}: ${parts.join(", ")}.`;
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "output-sum");
  const [z, W_O, bias, tokens] = ["z", "W_O", "bias", "tokens"].map((name) => model.get(name));
  const heads = z.map((_, h) => h);
  const width = W_O.length / z.length;
  const names = [...heads.map((h) => `head ${h}`), ...(bias ? ["the bias"] : [])];
  const parts = [...written(z, W_O), ...(bias ? [tokens.map(() => bias)] : [])];
  const inks = parts.map((_, i) => ({
    id: uid(),
    colour: i < z.length ? SERIES[i % 8] : "#bbbbbb",
    hatch: HATCHES[i % 6],
  }));
  const scale = axis(W_O[0].length);
  const largest = Math.max(...z.flat(2).map(Math.abs)) || 1;

  const off = () => model.get("off");
  const switches = heads.map((h) =>
    check({
      label: names[h],
      value: true,
      signal,
      change: (on) =>
        write(
          model,
          "off",
          on ? off().filter((i) => i !== h) : [...off(), h].sort((a, b) => a - b),
        ),
    }),
  );
  switches.forEach(({ node }, h) => node.append(swatch(inks[h])));
  const token = choice({
    label: "token",
    options: tokens.map((text, q) => `${q}: ${spelled(text)}`),
    value: model.get("position"),
    signal,
    change: (q) => write(model, "position", q),
  });
  const cells = W_O[0].map((_, c) => coordinate(c, W_O.length, width, inks));
  const blocks = heads.map((h) => block(h, W_O, width));
  const high = BARS.top + BARS.height + 30 + W_O.length * ROW + z.length * 8;
  const wide = GUTTER + cells.length * STEP + 4;
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      style: `min-width:${0.7 * wide}px;max-width:${1.2 * wide}px`,
    },
    svg("defs", {}, inks.map(pattern)),
    scale.node,
    svg(
      "g",
      { "aria-hidden": "true" },
      heading(0, "y", BARS.top + 8),
      heading(0, "W_O"),
      heading(GUTTER - 19, "z"),
      heads.map((h) => owner(h, width, inks[h])),
    ),
    svg(
      "g",
      { role: "radiogroup", "aria-label": "Coordinates of y" },
      cells.map((cell) => cell.node),
    ),
    blocks.map((block) => block.node),
  );
  const said = spoken();
  const sums = el("div", { class: "mhsa-sums" });
  body.append(
    el(
      "div",
      { class: "mhsa-controls" },
      token.node,
      switches.map(({ node }) => node),
    ),
    el(
      "div",
      { class: wide < 500 ? "mhsa-sides mhsa-beside" : "mhsa-sides" },
      el(
        "div",
        {},
        el("div", { class: "mhsa-scroll", role: "group", "aria-label": "y and W_O" }, picture),
        el(
          "p",
          { class: "mhsa-key" },
          "Above: y, one bar per coordinate; ◆ is the sum of its parts, a dashed line what it is with all heads on. ",
          "Below: z of the token, and W_O, a block of rows per head. A square is as large as its number, hollow if negative.",
        ),
      ),
      sums,
    ),
    said.node,
  );

  const select = (c) => write(model, "coordinate", c);
  const move = rove(
    cells.map(({ node }) => node),
    cells.length,
    signal,
    select,
  );
  cells.forEach(({ node }, c) =>
    node.addEventListener("pointerenter", () => select(c), { signal }),
  );

  let bars = ""; // which bars are drawn: selecting a coordinate leaves them as they are
  let [total, whole] = [[], []];

  function drawBars(q, silent) {
    total = summed(parts, silent);
    whole = product(z, W_O, bias, silent);
    const at = scale.draw(reach(parts.map((part) => [part[q]])));
    token.show(q);
    switches.forEach((one, h) => one.show(!silent.includes(h)));
    blocks.forEach((one, h) =>
      one.draw(
        z[h][q].map((x) => x / largest),
        silent.includes(h),
      ),
    );
    cells.forEach((cell, c) => {
      const values = parts.map((part) => part[q][c]);
      const ends = stacked(values.map((value, h) => (silent.includes(h) ? 0 : value)));
      const before = silent.length ? values.reduce((a, b) => a + b, 0) : null;
      cell.draw(at, ends, total[q][c], before);
    });
  }

  function draw() {
    const [q, c, silent] = [model.get("position"), model.get("coordinate"), off()];
    if (bars !== `${q}: ${silent}`) drawBars(q, silent);
    bars = `${q}: ${silent}`;
    cells.forEach(({ node }, i) => node.setAttribute("aria-checked", i === c));
    move(c);
    const values = parts.map((part) => part[q][c]);
    sums.replaceChildren(
      ...heads.map((h) =>
        term(
          h,
          z[h][q],
          W_O.slice(h * width, (h + 1) * width).map((row) => row[c]),
          { c, q, width, ink: inks[h], value: parts[h][q][c], silent },
        ),
      ),
      ...(bias
        ? [el("p", {}, swatch(inks.at(-1)), ` the bias, b_O[${c}] = ${fixed(bias[c], 3)}`)]
        : []),
      el(
        "p",
        { class: "mhsa-total" },
        el("b", {}, `y[${q}, ${c}]`),
        ` = ${signed(values.filter((_, i) => !silent.includes(i)))}`,
        el("b", {}, ` = ${fixed(total[q][c], 3)}`),
      ),
      el(
        "p",
        {},
        el("code", {}, bias ? "concat @ W_O + b_O" : "concat @ W_O"),
        ` gives ${fixed(whole[q][c], 3)}. Largest difference between the product and the sum over heads, `
          + `in all ${tokens.length} × ${cells.length} numbers: ${apart(whole, total).toExponential(1).replace("-", "−")}.`,
      ),
    );
    said.say(told(names, values, tokens[q], c, silent));
  }

  watch(model, ["position", "coordinate", "off"], draw, signal);
  draw();
  return end;
}

/** The scale of the bars; it holds for a token, whichever heads are off. */
function axis(n) {
  const node = svg("g", { "aria-hidden": "true" });
  const draw = ([low, high]) => {
    const at = (value) => BARS.top + (BARS.height * (high - value)) / (high - low || 1);
    const values = ticks(low, high);
    const decimals = Math.max(0, -Math.floor(Math.log10(values[1] - values[0] || 1)));
    node.replaceChildren(
      ...values.map((value) =>
        svg(
          "g",
          {},
          svg("path", {
            class: Math.abs(value) < 1e-9 ? "mhsa-zero" : "mhsa-rule",
            d: `M${GUTTER - 4} ${at(value)}h${n * STEP + 4}`,
          }),
          svg(
            "text",
            { x: GUTTER - 8, y: at(value) + 4, "text-anchor": "end" },
            fixed(value, Math.min(decimals, 20)),
          ),
        ),
      ),
    );
    return at;
  };
  return { node, draw };
}

function heading(x, text, y = BARS.top + BARS.height + 16) {
  return svg("text", { x, y, class: "mhsa-heading" }, text);
}

/** One coordinate: its bar, its number, and room for its column of W_O below. */
function coordinate(c, n, width, inks) {
  const [left, centre] = [GUTTER + c * STEP, GUTTER + (c + 0.5) * STEP];
  const bars = inks.map(({ id }) =>
    svg("rect", { x: left + 3, width: STEP - 6, class: "mhsa-bar", fill: `url(#${id})` }),
  );
  const marks = inks.map((_, i) =>
    svg(
      "text",
      { x: centre, class: "mhsa-mark", "text-anchor": "middle" },
      i < n / width ? `${i}` : "b",
    ),
  );
  const all = svg("path", { class: "mhsa-all" });
  const sum = svg("path", { class: "mhsa-sum", d: "M0 -5L5 0L0 5L-5 0Z" });
  const node = svg(
    "g",
    { role: "radio", class: "mhsa-coordinate" },
    svg("rect", { class: "mhsa-hit", x: left, y: 0, width: STEP, height: place(n, width) }),
    bars,
    marks,
    all,
    sum,
    svg("text", { x: centre, y: BARS.top + BARS.height + 16, "text-anchor": "middle" }, `${c}`),
  );
  const draw = (at, ends, y, before) => {
    node.setAttribute("aria-label", `coordinate ${c}: y is ${fixed(y, 3)}`);
    ends.forEach(({ from, to }, i) => {
      const [top, height] = [Math.min(at(from), at(to)), Math.abs(at(from) - at(to))];
      bars[i].setAttribute("y", top);
      bars[i].setAttribute("height", height);
      const middle = top + height / 2;
      const clear = height > 13 && Math.abs(middle - at(y)) > 10; // of its edges, and of the sum
      marks[i].setAttribute("display", clear ? "inline" : "none");
      if (clear) marks[i].setAttribute("y", middle + 4);
    });
    all.setAttribute("d", before === null ? "" : `M${left + 1} ${at(before)}h${STEP - 2}`);
    sum.setAttribute("transform", `translate(${centre} ${at(y)})`);
  };
  return { node, draw };
}

/** Height of the middle of a row of W_O; blocks of heads stand apart. */
function place(row, width) {
  return BARS.top + BARS.height + 38 + row * ROW + Math.floor(row / width) * 8;
}

/** A square whose area tells a number from −1 to 1. */
function square(x, y, value) {
  const side = 12 * Math.sqrt(Math.abs(value));
  const [size, corner] = value < 0 ? [Math.max(side - 1.5, 0), 0.75] : [side, 0];
  return svg("rect", {
    x: x - side / 2 + corner,
    y: y - side / 2 + corner,
    width: size,
    height: size,
    class: value < 0 ? "mhsa-minus" : "mhsa-plus",
  });
}

/** The rows of W_O that a head owns, and to their left the numbers of z that they multiply. */
function block(h, W_O, width) {
  const largest = Math.max(...W_O.flat().map(Math.abs)) || 1;
  const rows = W_O.slice(h * width, (h + 1) * width);
  const [column, height] = [svg("g"), (i) => place(h * width + i, width)];
  const node = svg(
    "g",
    { class: "mhsa-block", "aria-hidden": "true" },
    column,
    rows.flatMap((row, i) =>
      row.map((w, c) => square(GUTTER + (c + 0.5) * STEP, height(i), w / largest)),
    ),
  );
  const draw = (numbers, off) => {
    node.classList.toggle("mhsa-off", off);
    column.replaceChildren(
      ...numbers.map((x, i) =>
        off
          ? svg("path", { class: "mhsa-rule", d: `M${GUTTER - 18} ${height(i)}h6` })
          : square(GUTTER - 15, height(i), x),
      ),
    );
  };
  return { node, draw };
}

/** The name of a head beside its block of rows. */
function owner(h, width, { id }) {
  const [top, bottom] = [
    place(h * width, width) - ROW / 2,
    place((h + 1) * width - 1, width) + ROW / 2,
  ];
  return svg(
    "g",
    {},
    svg("rect", {
      x: 50,
      y: top,
      width: 9,
      height: bottom - top,
      fill: `url(#${id})`,
      class: "mhsa-bar",
    }),
    svg("text", { x: 46, y: (top + bottom) / 2 + 4, "text-anchor": "end" }, `head ${h}`),
  );
}

/** What one head adds, written out. */
function term(h, numbers, column, { c, q, width, ink, value, silent }) {
  const inside = (x) => (x < 0 ? `(${fixed(x, 3)})` : fixed(x, 3));
  const products = numbers.flatMap((x, i) => [
    el("span", {}, `${i ? "+ " : ""}${inside(x)}·${inside(column[i])}`),
    " ",
  ]);
  const off = silent.includes(h);
  return el(
    "p",
    { class: off ? "mhsa-off" : null },
    swatch(ink),
    el("b", {}, ` head ${h}`),
    off ? " (off) " : " ",
    el("code", {}, `z[${h}, ${q}] · W_O[${h * width}:${(h + 1) * width}, ${c}]`),
    el("br"),
    products,
    el("b", {}, `= ${fixed(value, 3)}`),
  );
}

function pattern({ id, colour, hatch }) {
  return svg(
    "pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("rect", { width: 6, height: 6, fill: colour }),
    svg("path", {
      d: hatch,
      stroke: "#111",
      "stroke-opacity": 0.55,
      "stroke-width": hatch.endsWith("h.1") ? 2.4 : 1,
      "stroke-linecap": "round",
    }),
  );
}

function swatch({ id }) {
  return svg(
    "svg",
    { class: "mhsa-swatch", width: 22, height: 12, "aria-hidden": "true" },
    svg("rect", { width: 22, height: 12, fill: `url(#${id})` }),
  );
}

export default { render };
