// Every wire as a small table of numbers, one per head, built once and lit from outside.

import { el, rove } from "./kit.js";
import { decimals, numberAt, numeral } from "./provenance.js";

/**
 * All tables: `of[wire]` lists them, `cells` finds a number by its place joined to a key.
 * `axes` names the axes of every wire, the last two are a table's; `open` lists what can be changed.
 */
export function makeSheets({ wires, axes, open, colours, signal, select }) {
  const cells = new Map();
  const of = {};
  const inside = {};

  function sheet(wire, head) {
    const [down, across] = axes[wire].slice(-2);
    const rows = numberAt(wires, [wire, ...head]);
    const grid = rows.map((row, i) =>
      row.map((_, j) => {
        const place = [wire, ...head, i, j];
        const td = el("td", { role: "gridcell", "data-place": place.join(" ") });
        cells.set(place.join(" "), { td, place });
        return td;
      }),
    );
    const flat = grid.flat();
    rove(flat, rows[0].length, signal, (i) => select(cells.get(flat[i].dataset.place).place));
    const name = head.length ? `${wire}[${head}]` : wire;
    const shape = `${down} ${rows.length} × ${across} ${rows[0].length}`;
    return el(
      "div",
      { class: `mhsa-sheet ${open.includes(wire) ? "mhsa-open" : ""}`, "data-wire": name },
      el("div", { class: "mhsa-name" }, el("code", {}, name)),
      el("div", { class: "mhsa-shape" }, shape),
      el(
        "table",
        {
          role: "grid",
          "aria-label": `${name}, ${shape}`,
          style: `--down:${colours[down]};--across:${colours[across]}`,
        },
        grid.map((row) => el("tr", {}, row)),
      ),
    );
  }

  for (const wire of Object.keys(axes)) {
    of[wire] = leading(wires[wire], axes[wire].length - 2).map((at) => sheet(wire, at));
    inside[wire] = [...cells.values()].filter(({ place }) => place[0] === wire);
  }

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
      parts.forEach((part) => part.style.setProperty("--digits", digits));
    }
  }

  function light(place, parents, ancestors) {
    const [near, far] = [parents, ancestors].map(
      (places) => new Set(places.map((one) => one.join(" "))),
    );
    for (const [key, { td }] of cells) {
      td.classList.toggle("mhsa-at", key === place.join(" "));
      td.classList.toggle("mhsa-near", near.has(key));
      td.classList.toggle("mhsa-far", far.has(key) && !near.has(key));
    }
  }

  return { of, cells, write, light };
}

/** Every index into the first `depth` axes, in order. */
const leading = (rows, depth) =>
  depth > 0 ? rows.flatMap((row, i) => leading(row, depth - 1).map((at) => [i, ...at])) : [[]];
