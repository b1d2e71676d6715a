// @ts-check
// The parts that a map is made of: tables of numbers to change, and what they add to the map.

import { el } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { numberField } from "../shared/number_field.js";
import { colourCell } from "./pair.js";
import { PARTS } from "./composing.js";

/** @import { Wrong } from "../shared/notice.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Maps, PartName } from "./composing.js" */
/** The place of a number in the maps, below the token. @typedef {[string, ...number[]]} Path */
/** @typedef {{ path: Path, field: import("../shared/number_field.js").NumberField }} Entry */
/** @typedef {{ node: HTMLElement, entries: Entry[], cells: HTMLElement[][] }} Part */
/** What a change needs. @typedef {{ signal: AbortSignal, wrong: Wrong, set: Set }} Hands */
/** @typedef {(path: Path, value: number) => void} Set */

const LARGEST = 9;

/** @type {(path: Path, hands: Hands) => Entry} */
function entry(path, { signal, wrong, set }) {
  const [name, ...at] = path;
  const label = `${name.replace("_w", " w").replace("_g", " g")}[${at.join(", ")}]`;
  const about = { label, min: -LARGEST, max: LARGEST, step: 0.1, signal, wrong };
  return { path, field: numberField({ ...about, change: (value) => set(path, value) }) };
}

/** @type {(label: string, rows: HTMLElement[]) => HTMLElement} */
const tableOf = (label, rows) => el("table", { "aria-label": label }, el("tbody", {}, rows));

/** @type {(entry: Entry) => HTMLElement} */
const td = ({ field }) => el("td", {}, field.node);

/** @type {(n: number) => HTMLElement[][]} */
const emptyCells = (n) => upTo(n).map(() => upTo(n).map(() => el("td", { class: "mhsa-number" })));

/** From each head to each, the same for all pairs. @type {(n: number, hands: Hands) => Part} */
function staticPart(n, hands) {
  const entries = upTo(n).map((i) => upTo(n).map((j) => entry(["W_b", i, j], hands)));
  const rows = entries.map((row) => el("tr", {}, row.map(td)));
  return { node: tableOf("W_b", rows), entries: entries.flat(), cells: [] };
}

/**
 * Rank by rank, w1 at the left reads the heads and w2 on top writes them.
 * @type {(n: number, rank: number, side: string, hands: Hands) => Part}
 */
function lowRankPart(n, rank, side, hands) {
  const w1 = upTo(rank).map((r) => upTo(n).map((i) => entry([`${side}_w1`, r, i], hands)));
  const w2 = upTo(rank).map((r) => upTo(n).map((j) => entry([`${side}_w2`, r, j], hands)));
  const cells = emptyCells(n);
  const corner = el(
    "th",
    { rowspan: rank, colspan: rank },
    el("div", {}, "w2 writes →"),
    el("div", {}, "w1 reads ↓"),
  );
  const above = w2.map((row, r) => el("tr", {}, r ? null : corner, row.map(td)));
  const below = cells.map((row, i) =>
    el(
      "tr",
      {},
      w1.map((one) => td(one[i])),
      row,
    ),
  );
  const node = tableOf(`low rank by the ${side} token`, [...above, ...below]);
  return { node, entries: [...w1, ...w2].flat(), cells };
}

/** Each token has a factor for every head. @type {(n: number, hands: Hands) => Part} */
function gatesPart(n, hands) {
  const lines = ["query", "key"].map((side) => {
    const entries = upTo(n).map((i) => entry([`${side}_gate`, i], hands));
    const name = el("th", { scope: "row" }, side === "query" ? "query g" : "key e");
    return { entries, row: el("tr", {}, name, entries.map(td)) };
  });
  const heads = upTo(n).map((h) => el("th", { scope: "col" }, `head ${h}`));
  const rows = [el("tr", {}, el("td"), heads), ...lines.map(({ row }) => row)];
  const entries = lines.flatMap((line) => line.entries);
  return { node: tableOf("gates", rows), entries, cells: [] };
}

/**
 * Where a number of the maps lies, for a pair.
 * @type {(path: Path, query: number, key: number) => Path}
 */
export function placed([name, ...at], query, key) {
  if (name === "W_b") return [name, ...at];
  return [name, name.startsWith("query") ? query : key, ...at];
}

/** @type {(maps: Maps, path: Path) => any} */
const numberAtPath = (maps, [name, ...at]) =>
  at.reduce((rows, i) => rows[i], /** @type {any} */ (maps)[name]);

/** The maps with one other number. @type {(maps: Maps, path: Path, value: number) => Maps} */
export function changedMaps(maps, path, value) {
  const copy = structuredClone(maps);
  numberAtPath(copy, /** @type {Path} */ (path.slice(0, -1)))[path[path.length - 1]] = value;
  return copy;
}

/** A table for every part. @param {number} n heads @param {number[]} ranks @param {Hands} hands */
export function partTables(n, [byQuery, byKey], hands) {
  /** @type {Record<PartName, Part>} */
  const all = {
    static: staticPart(n, hands),
    by_query: lowRankPart(n, byQuery, "query", hands),
    by_key: lowRankPart(n, byKey, "key", hands),
    gates: gatesPart(n, hands),
  };
  /** @type {(maps: Maps, parts: Record<PartName, Matrix>, query: number, key: number) => void} */
  function draw(maps, parts, query, key) {
    for (const name of PARTS) {
      const { entries, cells } = all[name];
      for (const { path, field } of entries)
        field.show(numberAtPath(maps, placed(path, query, key)));
      cells.forEach((row, i) => row.forEach((cell, j) => colourCell(cell, parts[name][i][j])));
    }
  }
  return { nodes: PARTS.map((name) => all[name].node), draw };
}
