// Every head of a model small, one of them large with its exact weights, two of them compared.

import {
  button,
  bytes,
  check,
  choice,
  clamp,
  el,
  fixed,
  frame,
  notice,
  spoken,
  uid,
  watch,
  write,
} from "../shared/kit.js";
import { isSpecial, quoted, spelled } from "../shared/tokens.js";
import {
  agreement,
  csv,
  fitting,
  kept,
  MEASURES,
  measuring,
  pick,
  strongest,
  unpack,
} from "./measures.js";
import { HeadView, svgFile } from "./views.js";
import { measured, SmallHeads } from "./small.js";

const OPTIONS = {
  sort: ["layer", ...Object.keys(MEASURES)],
  view: ["heat map", "lines"],
  direction: ["query to key", "key to query"],
};

/** What one weight says, in a sentence. */
export function sentence(weight, query, key, total) {
  if (total === 0) return `${quoted(query)} looks at nothing: its row is 0 everywhere.`;
  return `${quoted(query)} gives ${quoted(key)} ${weight === 0 ? "exactly 0" : `${fixed(weight, 4)} of its weight`}.`;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const exact = (weight) => (weight === 0 ? "0" : fixed(weight, 4));

/** A table whose numbers are filled in later, as text of its cells. */
function weightTable(queries, keys) {
  const cells = Array.from({ length: queries.length * keys.length }, () =>
    document.createTextNode(""),
  );
  const name = (scope, { token }) => el("th", { scope }, el("bdi", {}, spelled(token)));
  const caption = el("caption");
  const rows = queries.map((query, i) =>
    el(
      "tr",
      {},
      name("row", query),
      cells
        .slice(i * keys.length, (i + 1) * keys.length)
        .map((cell) => el("td", { class: "mhsa-number" }, cell)),
    ),
  );
  return {
    cells,
    caption,
    node: el(
      "table",
      { class: "mhsa-twin", style: `width:${4.2 * keys.length + 7}em` },
      caption,
      el(
        "tr",
        {},
        el("td"),
        keys.map((key) => name("col", key)),
      ),
      rows,
    ),
  };
}

/** What is shown: the weights that are left, their tokens and measures. */
function sift({ attention, weights, hidden, renormalise }) {
  const { shape, tokens, keys } = attention;
  let [rows, columns] = [kept(tokens, hidden), kept(keys, hidden)];
  const nothing = !rows.length || !columns.length;
  if (nothing) [rows, columns] = [kept(tokens, []), kept(keys, [])];
  const less = rows.length < shape[2] || columns.length < shape[3];
  const left = pick(weights, shape, rows, columns, less && renormalise);
  const named = (places, names) => places.map((at) => ({ at, token: names[at] }));
  return {
    nothing,
    rows,
    columns,
    weights: left,
    queries: named(rows, tokens),
    keys: named(columns, keys),
    measuresOf: measuring(left, rows.length, columns.length),
  };
}

function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "head-explorer");
  const get = (name) => model.get(name);
  const set = (name, value) => write(model, name, value);
  const place = notice({ signal });
  const said = spoken();
  let [weights, names, boxes, seen] = [];

  // --- controls
  const typed = el("input", { type: "text", id: uid(), maxlength: 5000 });
  for (const event of ["change", "keydown"]) {
    typed.addEventListener(
      event,
      ({ key = "Enter" }) => {
        if (key === "Enter" && typed.value !== get("text")) set("text", typed.value);
      },
      { signal },
    );
  }
  const text = el("div", { class: "mhsa-text" }, el("label", { for: typed.id }, "text"), typed);
  const [sort, view, direction] = Object.entries(OPTIONS).map(([name, options]) =>
    choice({
      label: name === "view" ? "draw as" : name,
      options,
      value: options.indexOf(get(name)),
      signal,
      change: (i) => set(name, options[i]),
    }),
  );
  const divide = check({
    label: "divide what is left of a row by its sum",
    value: true,
    signal,
    change: (on) => set("renormalise", on),
  });
  const [special, others] = [
    el("span", { class: "mhsa-tokens" }),
    el("div", { class: "mhsa-tokens" }),
  ];
  const summary = el("summary");
  const hide = el("details", {}, summary, others);
  const compare = button({
    label: "",
    signal,
    press: () => set("compared", get("compared") ? null : [get("layer"), get("head")]),
  });
  const files = ["svg", "csv"].map((kind) =>
    button({ label: `Save ${kind.toUpperCase()}`, signal, press: () => save(kind) }),
  );

  // --- pictures and words
  const small = new SmallHeads(signal, (i) => {
    set("layer", names[i].layer);
    set("head", names[i].head);
  });
  const point = ({ row, column }) => {
    if (row !== undefined) set("query", seen.rows[row]);
    if (column !== undefined) set("key", seen.columns[column]);
  };
  const views = [0, 1, 2].map(() => new HeadView(signal, point));
  const [list, about, numbers] = [el("ol"), el("p"), el("dl")];
  const sides = el("span");
  const scale = el(
    "p",
    { class: "mhsa-scale" },
    "exactly 0",
    el("i", { class: "mhsa-none" }),
    "above 0",
    el("i", { class: "mhsa-bar" }),
    "1",
    sides,
  );
  const scroller = (name, ...inside) =>
    el("div", { class: "mhsa-scroll", tabindex: 0, role: "group", "aria-label": name }, ...inside);
  const fold = (title, update) => {
    const inside = scroller(title);
    const node = el("details", {}, el("summary", {}, title), inside);
    let timer = 0;
    const now = () => {
      if (node.open && !signal.aborted) update(inside);
    };
    const draw = () => {
      // thousands of cells follow once the reader pauses
      clearTimeout(timer);
      timer = setTimeout(now, 200);
    };
    node.addEventListener("toggle", now, { signal });
    return { node, draw };
  };
  const everyHead = fold("Measures of every head", (inside) => {
    const press = (name) =>
      el(
        "th",
        { scope: "col", "aria-sort": get("sort") === name ? "descending" : null },
        button({ label: name, signal, press: () => set("sort", name) }),
      );
    inside.replaceChildren(
      el(
        "table",
        {},
        el("tr", {}, el("td"), fitting(get("attention")).map(press)),
        small.order.map(measures),
      ),
    );
  });
  const everyWeight = fold("Weights of this head as a table", (inside) => {
    const a = weightsOf(current());
    seen.twin ??= weightTable(seen.queries, seen.keys);
    seen.twin.cells.forEach((cell, i) => {
      cell.data = exact(a[i]);
    });
    seen.twin.caption.textContent = `${names[current()].long}: queries down, keys across`;
    if (inside.firstChild !== seen.twin.node) inside.replaceChildren(seen.twin.node);
  });
  const group = (name, ...parts) => el("div", { class: name }, ...parts);
  const area = group(
    "mhsa-views",
    views.map(({ node }) => node),
  );
  body.append(
    group("mhsa-controls", text, sort.node, special, divide.node, hide),
    place.node,
    group(
      "mhsa-both",
      small.node,
      group("mhsa-large", group("mhsa-controls", view.node, direction.node), area, scale, numbers),
      group("mhsa-words", about, list, said.node, group("mhsa-controls", compare, files)),
    ),
    everyHead.node,
    everyWeight.node,
  );

  // --- which head is which
  const index = ([layer, head]) => layer * get("attention").shape[1] + head;
  const current = () => index([get("layer"), get("head")]);
  const twin = () =>
    get("compared") && index(get("compared")) !== current() ? index(get("compared")) : null;
  const weightsOf = (i) =>
    seen.weights.subarray(
      i * seen.rows.length * seen.keys.length,
      (i + 1) * seen.rows.length * seen.keys.length,
    );
  const measures = (i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, names[i].short),
      fitting(get("attention")).map((name) =>
        el("td", { class: "mhsa-number" }, measured(seen.measuresOf(i)[name])),
      ),
    );

  views[0].grid.addEventListener(
    "keydown",
    (event) => {
      const far = Infinity;
      const step = {
        ArrowRight: [0, 1],
        ArrowLeft: [0, -1],
        ArrowDown: [1, 0],
        ArrowUp: [-1, 0],
        Home: [0, -far],
        End: [0, far],
        PageUp: [-far, 0],
        PageDown: [far, 0],
      }[event.key];
      if (!step) return;
      event.preventDefault();
      const move = (places, name, by) =>
        by && set(name, places[clamp(places.indexOf(get(name)) + by, 0, places.length - 1)]);
      move(seen.rows, "query", step[0]);
      move(seen.columns, "key", step[1]);
    },
    { signal },
  );

  // --- drawing, from what changes seldom to what changes always
  function drawText() {
    text.hidden = get("text") === null;
    typed.value = get("text") ?? "";
    place.say({ wrong: get("problem") });
    typed.setAttribute("aria-invalid", get("problem") !== "");
  }

  function drawAttention() {
    const {
      shape: [n, columns, ...size],
      tokens,
      keys,
      weights: packed,
    } = get("attention");
    weights = unpack(bytes(packed));
    names = Array.from({ length: n * columns }, (_, i) => {
      const [layer, head] = [Math.floor(i / columns), i % columns];
      return { layer, head, short: `L${layer}H${head}`, long: `layer ${layer}, head ${head}` };
    });
    root.classList.toggle("mhsa-single", names.length === 1);
    small.build(names, columns, size);
    const change = (token) => (on) =>
      set("hidden", [...get("hidden").filter((one) => one !== token), ...(on ? [token] : [])]);
    boxes = [...new Set([...tokens, ...keys])].map((token) => ({
      token,
      ...check({
        label: isSpecial(token) ? `hide ${token}` : spelled(token),
        value: false,
        signal,
        change: change(token),
      }),
    }));
    for (const [place, kind] of [
      [special, true],
      [others, false],
    ]) {
      place.replaceChildren(
        ...boxes.filter(({ token }) => isSpecial(token) === kind).map(({ node }) => node),
      );
    }
    summary.textContent = special.firstChild ? "hide other tokens" : "hide tokens";
    drawSeen();
  }

  function drawSeen() {
    const [hidden, renormalise] = [get("hidden"), get("renormalise")];
    seen = sift({ attention: get("attention"), weights, hidden, renormalise });
    place.say(
      !seen.nothing
        ? { wrong: get("problem") }
        : {
            wrong:
              "Without these tokens nothing is left, so all are shown; show one of them again.",
            offers: [["show all again", () => set("hidden", [])]],
          },
    );
    const { tokens, keys } = get("attention");
    for (const { token, box, node, show } of boxes) {
      show(hidden.includes(token));
      box.disabled =
        !hidden.includes(token)
        && [tokens, keys].some((names) => !kept(names, [...hidden, token]).length);
      node.title = box.disabled ? "the last token stays" : "";
    }
    divide.show(renormalise);
    divide.node.hidden = !hidden.length;
    small.paint(seen.weights, seen.rows.length, seen.columns.length);
    drawOrder();
    drawHead();
  }

  function drawOrder() {
    sort.show(OPTIONS.sort.indexOf(get("sort")));
    small.sort(seen.measuresOf, get("sort"));
    everyHead.draw();
  }

  function drawHead() {
    const [i, j] = [current(), twin()];
    const [one, two] = [names[i], names[j]];
    small.choose(i, get("compared") && index(get("compared")));
    view.show(OPTIONS.view.indexOf(get("view")));
    compare.textContent = two
      ? `Stop comparing with ${two.short}`
      : get("compared")
        ? `Now choose a head beside ${one.short}`
        : `Compare ${one.short}`;
    compare.setAttribute("aria-pressed", get("compared") !== null);
    root.classList.toggle("mhsa-comparing", j !== null);
    views.forEach(({ node }, at) => {
      node.hidden = at > 0 && j === null;
    });
    const like = { queries: seen.queries, keys: seen.keys, width: views[0].node.clientWidth };
    const lines = get("view") === "lines";
    const a = weightsOf(i);
    views[0].draw(a, { ...like, lines, title: one.short, name: one.long });
    if (two) {
      const b = weightsOf(j);
      views[1].draw(b, { ...like, lines, title: two.short, name: two.long });
      views[2].draw(
        a.map((weight, at) => weight - b[at]),
        {
          ...like,
          signed: true,
          title: `${one.short} − ${two.short}`,
          name: `${one.long} minus ${two.long}`,
        },
      );
    }
    sides.textContent = two
      ? `difference: blue is more in ${one.short}, orange more in ${two.short}`
      : "";
    const both = (of) =>
      [i, j]
        .filter((at) => at !== null)
        .map(of)
        .join(" / ");
    numbers.replaceChildren(
      ...fitting(get("attention")).map((name) =>
        el(
          "div",
          { title: MEASURES[name] },
          el("dt", {}, name),
          el(
            "dd",
            {},
            both((at) => measured(seen.measuresOf(at)[name])),
          ),
        ),
      ),
    );
    scale.hidden = lines && !two;
    everyWeight.draw();
    drawMark();
  }

  function drawMark() {
    direction.show(OPTIONS.direction.indexOf(get("direction")));
    const byKey = get("direction") === OPTIONS.direction[1];
    const [row, column] = [
      [seen.rows, "query"],
      [seen.columns, "key"],
    ].map(([places, name]) => Math.max(0, places.indexOf(get(name))));
    const [query, key] = [seen.queries[row].token, seen.keys[column].token];
    const [a, n, j] = [weightsOf(current()), seen.keys.length, twin()];
    for (const shown of views.slice(0, j === null ? 1 : 3)) {
      shown.mark(
        row,
        column,
        byKey,
        `${fixed(shown.at(row, column), 4)} from ${quoted(query)} to ${quoted(key)}`,
      );
    }
    const ofRow = [...a.subarray(row * n, (row + 1) * n)];
    const line = byKey ? seen.rows.map((_, i) => a[i * n + column]) : ofRow;
    about.textContent = byKey
      ? `Who looks at ${quoted(key)}? ${line.length} queries give it ${fixed(sum(line))} in all.`
      : `Where does ${quoted(query)} look?`;
    list.replaceChildren(
      ...strongest(line, 5).map(({ weight, place }) =>
        el(
          "li",
          { class: place === (byKey ? row : column) ? "mhsa-marked" : null },
          el("bdi", {}, spelled((byKey ? seen.queries : seen.keys)[place].token)),
          el("span", { style: `--share:${weight}` }),
          fixed(weight, 4),
        ),
      ),
    );
    const beside =
      j === null
        ? ""
        : ` In ${names[j].short}: ${exact(weightsOf(j)[row * n + column])}. Over all queries the two agree to ${fixed(
            agreement(seen.weights, current(), j, seen.rows.length, n),
          )} of 1.`;
    said.say(
      `${names.length === 1 ? "" : `${names[current()].short}: `}${sentence(a[row * n + column], query, key, sum(ofRow))}${beside}`,
    );
  }

  function save(kind) {
    const heads = [current(), twin()].filter((i) => i !== null);
    const content =
      kind === "svg"
        ? svgFile(
            views.slice(0, 2 * heads.length - 1),
            heads.map((i) => names[i].long).join(" and "),
          )
        : csv(
            heads.map((i) => ({ ...names[i], weights: weightsOf(i) })),
            seen.queries,
            seen.keys,
          );
    const href = URL.createObjectURL(
      new Blob([content], { type: kind === "svg" ? "image/svg+xml" : "text/csv" }),
    );
    el("a", { href, download: `${heads.map((i) => names[i].short).join("-")}.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  }

  watch(model, ["text", "problem"], drawText, signal);
  watch(model, ["attention"], drawAttention, signal);
  watch(model, ["hidden", "renormalise"], drawSeen, signal);
  watch(model, ["sort"], drawOrder, signal);
  watch(model, ["layer", "head", "compared", "view"], drawHead, signal);
  watch(model, ["query", "key", "direction"], drawMark, signal);
  drawText();
  drawAttention();
  const resized = new ResizeObserver(() => {
    if (views[0].node.clientWidth !== views[0].known[2]) drawHead();
  });
  resized.observe(area);
  signal.addEventListener("abort", () => resized.disconnect());
  return end;
}

export default { render };
