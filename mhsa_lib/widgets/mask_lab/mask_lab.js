// A mask to choose or to paint, and beside it the weights it leaves: who may look at whom.

import { dial } from "../shared/dial.js";
import {
  button,
  choice,
  el,
  fixed,
  frame,
  notice,
  rove,
  spoken,
  watch,
  weightColour,
  weightInk,
  write,
  writeAll,
} from "../shared/kit.js";
import {
  COUNTS,
  KINDS,
  countAllowed,
  emptyRows,
  inForm,
  inverted,
  leak,
  maskOf,
  nudged,
  paintedOver,
} from "./rules.js";
import { softmax } from "../shared/tensor.js";

/** What the picture shows, in a sentence or two. */
export function described(kind, mask, tokens) {
  const empty = emptyRows(mask).map((query) => `“${tokens[query]}”`);
  const pairs = `Mask ${kind}: ${countAllowed(mask)} of ${mask.length ** 2} pairs may look.`;
  if (empty.length === 0) return `${pairs} Every query has a key.`;
  return `${pairs} ${empty.join(", ")} ${empty.length === 1 ? "looks" : "look"} at nothing.`;
}

/** What an implementation gives the empty row of n keys, as a reader sees it. */
export function answered(weights, n) {
  return {
    zeros: "all 0",
    NaN: "all NaN",
    other: "something else",
    equal: `all 1/${n}, forbidden keys too`,
  }[weights];
}

/** What happens when each API gets the mask of the other. */
export function swapped(opposite) {
  const left = emptyRows(opposite).length;
  if (left === opposite.length) return "No error, and no query is left with anything.";
  const rest = left ? ` ${left} of ${opposite.length} queries are left with nothing.` : "";
  return `No error. All weight lies on forbidden pairs.${rest}`;
}

/** What happens when a mask of 1 and 0 is added to the scores. */
export function leaking(weights, mask) {
  const share = Math.round(100 * leak(weights, mask));
  return `No error, and nothing is forbidden: ${share} % of the weight lies on forbidden pairs.`;
}

/** A reader's token as a label: never empty, never long. */
const named = (token) => (token.length > 12 ? `${token.slice(0, 11)}…` : token.trim() || "(blank)");

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "mask-lab");
  const tokens = model.get("tokens").map(named);
  const size = tokens.length;
  const current = () => maskOf(model.get("kind"), model.get("n"), model.get("painted"), size);
  const said = spoken();
  const place = notice({ signal });
  const own = KINDS.at(-1);

  const kind = choice({
    label: "mask",
    options: KINDS,
    value: 0,
    signal,
    change: (i) => (KINDS[i] === own ? paint([], true) : write(model, "kind", KINDS[i])),
  });
  const counts = Object.fromEntries(
    ["length", "prefix", "window"].map((label) => [
      label,
      dial({
        label,
        unit: "token",
        max: size,
        stops: tokens.map((_, i) => i + 1),
        value: Math.min(model.get("n"), size),
        signal,
        wrong: place.wrong,
        change: (n) => write(model, "n", n),
      }),
    ]),
  );
  const head = choice({
    label: "head",
    options: model.get("scores").map((_, i) => `${i}`),
    value: 0,
    signal,
    change: (i) => write(model, "head", i),
  });

  function paint(cells, value) {
    writeAll(model, { painted: paintedOver(current(), cells, value), kind: own });
  }

  const mask = paintable(tokens, signal, current, paint);
  const weights = grid(tokens, "Weights of the chosen head", "mhsa-weights");
  const empty = el("div", { class: "mhsa-empty" });

  const forms = ["boolean", "additive"];
  const form = choice({
    label: "form",
    options: forms,
    value: 0,
    signal,
    change: (i) => write(model, "form", forms[i]),
  });
  const sdpa = copied("scaled_dot_product_attention", "SDPA", tokens, signal);
  const module = copied("nn.MultiheadAttention", "nn.MultiheadAttention", tokens, signal);
  const mistake = {
    means: el("p", { class: "mhsa-key" }),
    said: el("p"),
    grid: grid(tokens, "Weights after the mistake", "mhsa-weights mhsa-small"),
  };

  body.append(
    el(
      "div",
      { class: "mhsa-controls" },
      kind.node,
      ...Object.values(counts).map((count) => count.node),
      head.node,
    ),
    place.node,
    el(
      "div",
      { class: "mhsa-pair" },
      el(
        "div",
        {},
        el("p", { class: "mhsa-title" }, "Mask: press or drag to paint"),
        mask.node,
        el(
          "p",
          { class: "mhsa-key" },
          el("span", { class: "mhsa-may" }),
          " may look ",
          el("span", { class: "mhsa-may-not" }),
          " may not",
        ),
      ),
      el(
        "div",
        {},
        el("p", { class: "mhsa-title" }, "Weights under it"),
        weights.node,
        el("p", { class: "mhsa-key" }, "Rows are queries, columns keys. Hatched is exactly 0."),
      ),
    ),
    said.node,
    empty,
    el("p", { class: "mhsa-title mhsa-rule" }, "The same mask for PyTorch"),
    el("div", { class: "mhsa-controls" }, form.node),
    el(
      "div",
      { class: "mhsa-three" },
      sdpa.node,
      module.node,
      el(
        "div",
        {},
        el("p", { class: "mhsa-title" }, "The mistake"),
        mistake.means,
        mistake.grid.node,
        mistake.said,
      ),
    ),
    el("div", { class: "mhsa-pair" }, sdpa.text, module.text),
  );

  function draw() {
    const now = {
      kind: model.get("kind"),
      form: model.get("form"),
      mask: current(),
      scores: model.get("scores")[model.get("head")],
    };
    place.say({});
    kind.show(KINDS.indexOf(now.kind));
    head.show(model.get("head"));
    form.show(forms.indexOf(now.form));
    for (const [label, count] of Object.entries(counts)) {
      count.show(Math.min(model.get("n"), size));
      count.node.hidden = COUNTS[now.kind] !== label;
    }
    mask.show(now.mask);
    showWeights(weights, softmax(now.scores, now.mask), now.mask);
    showEmpty(empty, emptyRows(now.mask), tokens, model);
    showForms(now);
    said.say(described(now.kind, now.mask, tokens));
  }

  function showForms({ form: name, mask: allowed, scores }) {
    const boolean = name === "boolean";
    const opposite = inverted(allowed);
    sdpa.show(boolean ? "True = may look" : "0 is added, or −∞", inForm(name, allowed), allowed);
    module.show(
      boolean ? "True = blocked" : "the same numbers",
      inForm(name, boolean ? opposite : allowed),
      boolean ? opposite : allowed,
    );
    const wrong = boolean ? softmax(scores, opposite) : nudged(scores, allowed);
    showWeights(
      mistake.grid,
      wrong,
      boolean ? opposite : allowed.map((row) => row.map(() => true)),
    );
    mistake.means.textContent = boolean
      ? "each handed to the other"
      : "1 and 0 in place of 0 and −∞";
    mistake.said.textContent = boolean ? swapped(opposite) : leaking(wrong, allowed);
  }

  watch(model, ["kind", "n", "painted", "head", "form"], draw, signal);
  draw();
  return end;
}

/** A table of query rows and key columns; `cells[query][key]` are its data cells. */
function grid(tokens, label, look) {
  const cells = tokens.map(() => tokens.map(() => el("td")));
  const top = el(
    "tr",
    {},
    el("td"),
    tokens.map((token) => el("th", { scope: "col" }, token)),
  );
  const rows = tokens.map((token, query) =>
    el("tr", {}, el("th", { scope: "row" }, token), cells[query]),
  );
  return {
    node: el(
      "table",
      { class: `mhsa-grid ${look}`, "aria-label": label },
      el("thead", {}, top),
      el("tbody", {}, rows),
    ),
    cells,
  };
}

function showWeights({ cells }, weights, mask) {
  weights.forEach((row, query) =>
    row.forEach((weight, key) => {
      const cell = cells[query][key];
      cell.textContent = mask[query][key] ? fixed(weight) : "";
      cell.className = mask[query][key] ? "" : "mhsa-zero";
      cell.style.cssText = mask[query][key]
        ? `background:${weightColour(weight)};color:${weightInk(weight)}`
        : "";
    }),
  );
}

/** The grid of the mask: pairs, rows, columns or all of it switch with mouse, finger or keys. */
function paintable(tokens, signal, current, paint) {
  const all = tokens.map((_, i) => i);
  const press = (label, cells) => ({
    cells,
    node: el("button", { type: "button", "aria-label": label }),
  });
  const corner = press(
    "all pairs",
    all.flatMap((query) => all.map((key) => [query, key])),
  );
  const columns = tokens.map((token, key) =>
    press(
      `key ${token}, whole column`,
      all.map((query) => [query, key]),
    ),
  );
  const rows = tokens.map((token, query) =>
    press(
      `query ${token}, whole row`,
      all.map((key) => [query, key]),
    ),
  );
  const pairs = all.map((query) =>
    all.map((key) => press(`${tokens[query]} looks at ${tokens[key]}`, [[query, key]])),
  );
  corner.node.append("all");
  tokens.forEach((token, i) => {
    columns[i].node.append(token);
    rows[i].node.append(token);
  });

  let stroke = null;
  let handled = null;
  const opposite = ({ cells }) => !cells.some(([query, key]) => current()[query][key]);
  const buttons = [corner, ...columns, ...all.flatMap((query) => [rows[query], ...pairs[query]])];
  for (const one of buttons) {
    one.node.addEventListener(
      "pointerdown",
      (event) => {
        handled = event.button === 0 ? one : null;
        if (handled === null) return;
        event.target.releasePointerCapture(event.pointerId); // a finger enters the cells that it passes
        stroke = opposite(one);
        paint(one.cells, stroke);
      },
      { signal },
    );
    one.node.addEventListener(
      "pointerenter",
      () => {
        if (stroke !== null) paint(one.cells, stroke);
      },
      { signal },
    );
    one.node.addEventListener(
      "click",
      (event) => {
        if (event.detail === 0 || handled !== one) paint(one.cells, opposite(one));
      },
      { signal },
    );
    one.node.addEventListener("dragstart", (event) => event.preventDefault(), { signal });
  }
  addEventListener(
    "pointerup",
    () => {
      stroke = null;
    },
    { signal },
  );
  addEventListener(
    "pointercancel",
    () => {
      stroke = null;
    },
    { signal },
  );
  rove(
    buttons.map(({ node }) => node),
    tokens.length + 1,
    signal,
  );

  const line = (first, rest) =>
    el(
      "tr",
      {},
      el("th", {}, first.node),
      rest.map(({ node }) => el("td", {}, node)),
    );
  const node = el(
    "table",
    { class: "mhsa-grid mhsa-paint", "aria-label": "Mask" },
    el(
      "tbody",
      {},
      line(corner, columns),
      rows.map((row, query) => line(row, pairs[query])),
    ),
  );
  const show = (mask) =>
    mask.forEach((row, query) =>
      row.forEach((may, key) => pairs[query][key].node.setAttribute("aria-pressed", may)),
    );
  return { node, show };
}

/** What every implementation answers for the empty rows, if there are any. */
function showEmpty(place, empty, tokens, model) {
  if (empty.length === 0) {
    place.replaceChildren(
      el(
        "p",
        { class: "mhsa-key" },
        "No row is empty. Press a token's name at the left of the mask to empty its row.",
      ),
    );
    return;
  }
  const line = ({ implementation, weights, gradient }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, implementation),
      el(
        "td",
        { class: weights === "zeros" ? null : "mhsa-bad" },
        answered(weights, tokens.length),
      ),
      el("td", { class: gradient === "finite" ? null : "mhsa-bad" }, gradient),
    );
  const head = ["implementation", `weights of “${tokens[empty[0]]}”`, "gradient of all keys"].map(
    (title) => el("th", { scope: "col" }, title),
  );
  place.replaceChildren(
    el("p", { class: "mhsa-title" }, "An empty row, in each implementation"),
    el(
      "div",
      {
        class: "mhsa-scroll",
        tabindex: 0,
        role: "group",
        "aria-label": "Answers for an empty row",
      },
      el(
        "table",
        { class: "mhsa-answers" },
        el("thead", {}, el("tr", {}, head)),
        el("tbody", {}, model.get("answers").map(line)),
      ),
    ),
    el(
      "p",
      { class: "mhsa-key" },
      `Run with torch ${model.get("torch_version")} on a CPU, in float32. The gradient is that of a loss that leaves the empty row out.`,
    ),
  );
}

/** One convention: its mask as a grid and as text to copy. */
function copied(api, short, tokens, signal) {
  const table = grid(tokens, `Mask for ${api}`, "mhsa-words mhsa-small");
  const meaning = el("p", { class: "mhsa-key" });
  const text = el("pre", { tabindex: 0 });
  const copy = button({
    label: `Copy for ${short}`,
    signal,
    press() {
      getSelection().selectAllChildren(text);
      const written = navigator.clipboard?.writeText(text.textContent) ?? Promise.reject();
      written.then(
        () => {
          copy.textContent = "Copied";
        },
        () => {
          copy.textContent = "Selected; press Ctrl+C";
        },
      );
    },
  });
  const show = (means, { words, text: code }, on) => {
    meaning.textContent = means;
    words.forEach((row, query) =>
      row.forEach((word, key) => {
        table.cells[query][key].textContent = word.replace("True", "T").replace("False", "F");
        table.cells[query][key].className = on[query][key] ? "mhsa-on" : "";
      }),
    );
    if (text.textContent !== code) copy.textContent = `Copy for ${short}`;
    text.textContent = code;
  };
  return {
    node: el("div", {}, el("p", { class: "mhsa-title" }, el("code", {}, api)), meaning, table.node),
    text: el("div", { class: "mhsa-text" }, text, copy),
    show,
  };
}

export default { render };
