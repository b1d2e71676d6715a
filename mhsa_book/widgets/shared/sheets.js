// @ts-check
// Every wire as a small table of numbers, one per head, built once and lit from outside.

import { el } from "./elements.js";
import { decimals, numberAt, numeral } from "./places.js";
import { rove } from "./roving_tabindex.js";

/** @import { At, Wires } from "./places.js" */
/** A number's place, and where it is shown. @typedef {{ td: HTMLElement, place: At }} Cell */
/** @typedef {ReturnType<typeof makeSheets>} Sheets */

/** @type {(place: At) => string} */
const keyOf = (place) => place.join(" ");

/**
 * All tables: `of[wire]` lists them, `cells` finds a number by its place joined to a key.
 * `axes` names the axes of every wire, the last two are a table's; `open` lists what can be
 * changed.
 * @param {{ wires: Wires, axes: Record<string, string[]>, open: string[],
 *   colours: Record<string, string>, signal: AbortSignal, select: (place: At) => void }} about
 */
export function makeSheets({ wires, axes, open, colours, signal, select }) {
  const cells = /** @type {Map<string, Cell>} */ (new Map());
  /** @type {(wire: string, rows: number[][], head: number[]) => Cell[][]} */
  const cellsOf = (wire, rows, head) =>
    rows.map((row, i) =>
      row.map((_, j) => {
        const place = /** @type {At} */ ([wire, ...head, i, j]);
        const cell = { td: el("td", { role: "gridcell", "data-place": keyOf(place) }), place };
        cells.set(keyOf(place), cell);
        return cell;
      }),
    );

  /** @type {(wire: string, head: number[]) => HTMLElement} */
  function sheet(wire, head) {
    const [down, across] = axes[wire].slice(-2);
    const grid = cellsOf(wire, numberAt(wires, [wire, ...head]), head);
    const flat = grid.flat();
    const tds = flat.map(({ td }) => td);
    rove(tds, grid[0].length, signal, (i) => select(flat[i].place));
    const name = head.length ? `${wire}[${head}]` : wire;
    const shape = `${down} ${grid.length} × ${across} ${grid[0].length}`;
    const look = `mhsa-sheet ${open.includes(wire) ? "mhsa-open" : ""}`;
    const style = `--down:${colours[down]};--across:${colours[across]}`;
    const lines = grid.map((row) =>
      el(
        "tr",
        {},
        row.map(({ td }) => td),
      ),
    );
    return el(
      "div",
      { class: look, "data-wire": name },
      el("div", { class: "mhsa-name" }, el("code", {}, name)),
      el("div", { class: "mhsa-shape" }, shape),
      el("table", { role: "grid", "aria-label": `${name}, ${shape}`, style }, lines),
    );
  }

  const of = Object.fromEntries(
    Object.keys(axes).map((wire) => {
      const heads = leading(wires[wire], axes[wire].length - 2);
      return [wire, heads.map((at) => sheet(wire, at))];
    }),
  );
  const all = [...cells.values()];
  const inside = Object.fromEntries(
    Object.keys(axes).map((wire) => [wire, all.filter(({ place }) => place[0] === wire)]),
  );

  /** @type {(now: Wires) => void} */
  function write(now) {
    for (const [wire, parts] of Object.entries(of)) {
      const places = wire === "mask" ? 0 : decimals(now[wire].flat(Infinity));
      let digits = 0;
      for (const { td, place } of inside[wire]) {
        const value = numberAt(now, place);
        const text = wire === "mask" ? (value ? "■" : "·") : numeral(value, places);
        digits = Math.max(digits, text.length);
        if (td.textContent === text) continue;
        td.textContent = text;
        if (wire === "mask") td.setAttribute("aria-label", value ? "may look" : "may not look");
      }
      parts.forEach((part) => part.style.setProperty("--digits", `${digits}`));
    }
  }

  /** @type {(place: At, parents: At[], ancestors: At[]) => void} */
  function light(place, parents, ancestors) {
    const [near, far] = [parents, ancestors].map((places) => new Set(places.map(keyOf)));
    for (const [key, { td }] of cells) {
      td.classList.toggle("mhsa-at", key === keyOf(place));
      td.classList.toggle("mhsa-near", near.has(key));
      td.classList.toggle("mhsa-far", far.has(key) && !near.has(key));
    }
  }

  /** The cell of an event that came from one. @type {(event: Event) => Cell | undefined} */
  const at = (event) => {
    const td = /** @type {Element} */ (event.target).closest("td");
    return cells.get(td?.dataset.place ?? "");
  };

  return { of, cells, write, light, at };
}

/**
 * Every index into the first `depth` axes, in order.
 * @type {(rows: any[], depth: number) => number[][]}
 */
const leading = (rows, depth) =>
  depth > 0 ? rows.flatMap((row, i) => leading(row, depth - 1).map((at) => [i, ...at])) : [[]];
