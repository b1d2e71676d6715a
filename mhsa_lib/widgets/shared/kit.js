// What all figures share: elements, controls, numbers in words, and the colours of a weight.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; attributes by name, children as elements or as text, which stays text. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, as `el`. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const COUNTER = Symbol.for("mhsa_lib.widgets: ids in use");

/** A name for one element of this page; figures of other kinds, in other modules, count along. */
export function uid() {
  globalThis[COUNTER] = (globalThis[COUNTER] ?? 0) + 1;
  return `mhsa-${globalThis[COUNTER]}`;
}

/** The frame of a figure, and its lifetime: everything listens with `signal`, `end` undoes all. */
export function frame(root, name) {
  const life = new AbortController();
  root.classList.add("mhsa-figure", `mhsa-${name}`);
  // JupyterLab would take arrow keys and Enter for its own cells.
  const body = el("div", { class: "mhsa-body", "data-lm-suppress-shortcuts": "true" });
  root.append(body);
  const end = () => {
    life.abort();
    body.remove();
  };
  return { body, signal: life.signal, end };
}

const held = new WeakMap();

/** Call `draw` when one of the named values changes, wherever the change comes from. */
export function watch(model, names, draw, signal) {
  for (const name of names) {
    const listen = () => (held.has(model) ? held.get(model).add(draw) : draw());
    model.on(`change:${name}`, listen);
    signal.addEventListener("abort", () => model.off(`change:${name}`, listen));
  }
}

/** Change values here and, where a kernel is, in Python; what lies between them is never drawn. */
export function writeAll(model, values) {
  const draws = new Set();
  held.set(model, draws);
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  held.delete(model);
  model.save_changes();
  for (const draw of draws) draw();
}

export const write = (model, name, value) => writeAll(model, { [name]: value });

// --- controls ------------------------------------------------------------------------------

/**
 * A place that keeps its height: the rule that holds and what moved along with the last change, or
 * what is wrong and a button for each repair. `say` tells what the state of the figure deserves;
 * `wrong` lays a mistake in typing over it, and null takes it away.
 */
export function notice({ signal, tall = false }) {
  const [law, along] = [el("p", { class: "mhsa-quiet" }), el("p", { "aria-live": "polite" })];
  const alert = el("p", { class: "mhsa-alert", role: "alert" });
  const repairs = el("div", { class: "mhsa-repairs", role: "group", "aria-label": "Repairs" });
  const node = el(
    "div",
    { class: `mhsa-notice${tall ? " mhsa-tall" : ""}`, tabindex: -1 },
    law,
    alert,
    along,
    repairs,
  );
  const put = (line, text) => {
    if (line.textContent !== text) line.textContent = text;
  };
  let standing = {};

  function show(now) {
    put(law, now.law ?? "");
    put(along, now.along ?? "");
    put(alert, now.wrong ?? "");
    repairs.hidden = !now.offers?.length;
    repairs.replaceChildren(
      ...(now.offers ?? []).map(([label, repair]) =>
        button({
          label,
          signal,
          press() {
            repair();
            if (document.activeElement === document.body || node.contains(document.activeElement))
              node.focus(); // the button is gone
          },
        }),
      ),
    );
  }
  const say = (now) => {
    standing = now;
    show(now);
  };
  return {
    node,
    say,
    wrong: (text, offers) => show(text === null ? standing : { wrong: text, offers }),
  };
}

/** A labelled choice among texts; `change` gets the position of the chosen one. */
export function choice({ label, options, value, signal, change }) {
  const id = uid();
  const select = el(
    "select",
    { id },
    options.map((text) => el("option", {}, text)),
  );
  select.selectedIndex = value;
  select.addEventListener("change", () => change(select.selectedIndex), { signal });
  const node = el("div", { class: "mhsa-choice" }, el("label", { for: id }, label), select);
  return {
    node,
    show: (index) => {
      select.selectedIndex = index;
    },
    select,
  };
}

/** A switch with its label beside it. */
export function check({ label, value, signal, change }) {
  const box = el("input", { type: "checkbox" });
  box.checked = value;
  box.addEventListener("change", () => change(box.checked), { signal });
  return {
    node: el("label", { class: "mhsa-check" }, box, label),
    box,
    show: (on) => {
      box.checked = on;
    },
  };
}

/** A button. */
export function button({ label, signal, press }) {
  const node = el("button", { type: "button", class: "mhsa-button" }, label);
  node.addEventListener("click", press, { signal });
  return node;
}

/** A line that a screen reader speaks when it changes, once the reader pauses. */
export function spoken() {
  const node = el("p", { class: "mhsa-said", role: "status" });
  let timer = 0;
  const say = (text, wait = 250) => {
    clearTimeout(timer);
    if (node.textContent === text) return;
    if (node.textContent === "" || wait === 0) node.textContent = text;
    else
      timer = setTimeout(() => {
        node.textContent = text;
      }, wait);
  };
  return { node, say };
}

/**
 * Arrow keys, Home and End move between the `cells` of a grid; one of them is in the tab order.
 * The function returned puts another one there.
 */
export function rove(cells, columns, signal, enter = () => {}) {
  let at = 0;
  const settle = (i) => {
    cells[at].setAttribute("tabindex", -1);
    at = i;
    cells[i].setAttribute("tabindex", 0);
  };
  cells.forEach((cell, i) => {
    cell.setAttribute("tabindex", i === 0 ? 0 : -1);
    cell.addEventListener(
      "focus",
      () => {
        settle(i);
        enter(i);
      },
      { signal },
    );
    cell.addEventListener(
      "keydown",
      (event) => {
        const column = i % columns;
        const next = {
          ArrowRight: column < columns - 1 ? i + 1 : i,
          ArrowLeft: column > 0 ? i - 1 : i,
          ArrowDown: i + columns,
          ArrowUp: i - columns,
          Home: i - column,
          End: i - column + columns - 1,
        }[event.key];
        if (next === undefined || !cells[next]) return;
        event.preventDefault();
        cells[next].focus();
      },
      { signal },
    );
  });
  return settle;
}

// --- numbers -------------------------------------------------------------------------------

export function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

/** A number with so many decimals, a true minus sign, and no minus zero. */
export function fixed(value, decimals = 2) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(decimals);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** A count in at most four digits: exact below ten thousand, then k, M, G, T, P. */
export function short(count) {
  if (count < 10_000) return `${count}`;
  const thousands = Math.min(Math.floor((`${Math.round(count * 1.0005)}`.length - 1) / 3), 6);
  return `${Number((count / 1000 ** thousands).toPrecision(3))} ${" kMGTPE"[thousands]}`;
}

/** "1 head", "12 heads" */
export const counted = (count, unit) => `${grouped(count)} ${unit}${count === 1 ? "" : "s"}`;

/** A count with its thousands apart. */
export function grouped(count) {
  return Math.round(count).toLocaleString("en-US");
}

/** The bytes of a value: base64 on a static page, a DataView where a kernel is. */
export function bytes(value) {
  if (typeof value === "string") return Uint8Array.from(atob(value), (c) => c.charCodeAt(0));
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

// --- colours -------------------------------------------------------------------------------

/** White is nothing, navy everything: the map of every picture of weights in the book. */
export const WEIGHT_STOPS = [
  [240, 251, 255],
  [171, 228, 251],
  [106, 201, 244],
  [60, 172, 226],
  [45, 142, 198],
  [36, 112, 169],
  [29, 84, 139],
  [35, 58, 100],
  [29, 34, 61],
];

export function weightColour(weight) {
  const place = clamp(weight, 0, 1) * (WEIGHT_STOPS.length - 1);
  const i = Math.min(Math.floor(place), WEIGHT_STOPS.length - 2);
  const mix = WEIGHT_STOPS[i].map((c, k) =>
    Math.round(c + (place - i) * (WEIGHT_STOPS[i + 1][k] - c)),
  );
  return `rgb(${mix.join(",")})`;
}

/** The colour of words on that colour. */
export function weightInk(weight) {
  return weight > 0.575 ? "#fff" : "#000";
}

/** Okabe and Ito's colours, as in the printed pictures; a number or a hatch always says the same. */
export const SERIES = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#f0e442",
  "#999999",
];
