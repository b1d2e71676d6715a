// Every wire as a small table of numbers, one per head, built once and lit from outside.

import { el, rove } from "./kit.js";
import { AXES, INPUTS, ancestors, decimals, numberAt, numeral, parents } from "./provenance.js";

/** All tables: `of[wire]` lists them, `cells` finds a number by its place joined to a key. */
export function makeSheets({ wires, colours, signal, select }) {
  const cells = new Map();
  const of = {};
  const inside = {};

  function sheet(wire, head) {
    const [down, across] = AXES[wire].slice(-2);
    const rows = numberAt(wires, [wire, ...head]);
    const grid = rows.map((row, i) => row.map((_, j) => {
      const place = [wire, ...head, i, j];
      const td = el("td", { role: "gridcell", "data-place": place.join(" ") });
      cells.set(place.join(" "), { td, place });
      return td;
    }));
    const flat = grid.flat();
    rove(flat, rows[0].length, signal, (i) => select(cells.get(flat[i].dataset.place).place));
    const name = head.length ? `${wire}[${head}]` : wire;
    const shape = `${down} ${rows.length} × ${across} ${rows[0].length}`;
    const open = INPUTS.includes(wire) || wire === "mask";
    return el("div", { class: `mhsa-sheet ${open ? "mhsa-open" : ""}`, "data-wire": name },
      el("div", { class: "mhsa-name" }, el("code", {}, name)), el("div", { class: "mhsa-shape" }, shape),
      el("table", { role: "grid", "aria-label": `${name}, ${shape}`, style: `--down:${colours[down]};--across:${colours[across]}` },
        grid.map((row) => el("tr", {}, row))));
  }

  for (const [wire, axes] of Object.entries(AXES)) {
    of[wire] = axes.length === 3 ? wires[wire].map((_, h) => sheet(wire, [h])) : [sheet(wire, [])];
    inside[wire] = [...cells.values()].filter(({ place }) => place[0] === wire);
  }

  function write(now) {
    for (const [wire, parts] of Object.entries(of)) {
      const places = wire === "mask" ? 0 : decimals(now[wire].flat(2));
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

  function light(place, now) {
    const keys = (places) => new Set(places.map((one) => one.join(" ")));
    const [near, far] = [keys(parents(place, now)), keys(ancestors(place, now))];
    for (const [key, { td }] of cells) {
      td.classList.toggle("mhsa-at", key === place.join(" "));
      td.classList.toggle("mhsa-near", near.has(key));
      td.classList.toggle("mhsa-far", far.has(key) && !near.has(key));
    }
  }

  return { of, cells, write, light };
}
