// @ts-check
// The nine heads: where each attends from the last word, and a switch.

import { el } from "../shared/elements.js";
import { upTo } from "../shared/numbers.js";
import { rove } from "../shared/roving_tabindex.js";
import { arrive, hearPointer } from "./moved.js";

/** What a tile says below the name of its head. @typedef {{ text: string, kind: number }} Says */

/**
 * `look` hears whose arcs are wanted, `point` which head is pointed at, `turn` which is switched.
 * @param {{ names: string[], sides: [string, number[]][], look: (k: number) => void,
 *   point: (k: number) => void, turn: (k: number) => void, signal: AbortSignal }} about
 */
export function nineTiles({ names, sides, look, point, turn, signal }) {
  const tiles = names.map((name, k) => {
    const says = el("span", { class: "mhsa-says" });
    const see = el("button", { type: "button", class: "mhsa-look" }, el("b", {}, name), says);
    const label = `${name} on`;
    const knob = el("span", { class: "mhsa-knob" });
    const power = el("button", { type: "button", class: "mhsa-power", "aria-label": label }, knob);
    see.addEventListener("click", () => look(k), { signal });
    power.addEventListener("click", () => turn(k), { signal });
    const node = el("div", { class: "mhsa-tile" }, see, power);
    hearPointer(node, (here) => point(here ? k : -1), signal);
    return { node, see, power, says };
  });
  const cells = tiles.flatMap(({ see, power }) => [see, power]);
  const settle = rove(cells, 6, signal, (i) => look(Math.floor(i / 2)));
  const groups = sides.map(([title, some]) =>
    el(
      "div",
      { class: "mhsa-side", role: "group", "aria-label": title },
      el("p", { class: "mhsa-title" }, title),
      el(
        "div",
        { class: "mhsa-tiles" },
        some.map((k) => tiles[k].node),
      ),
    ),
  );
  const node = el("div", { class: "mhsa-nine" }, groups);

  /** @type {(says: Says[], off: number[], shown: number) => void} */
  function draw(says, off, shown) {
    for (const k of upTo(tiles.length)) {
      const { node: tile, see, power, says: line } = tiles[k];
      tile.classList.toggle("mhsa-off", off.includes(k));
      tile.classList.toggle("mhsa-shown", k === shown);
      see.setAttribute("aria-pressed", `${k === shown}`);
      power.setAttribute("aria-pressed", `${!off.includes(k)}`);
      if (line.textContent !== says[k].text) arrive(line);
      line.textContent = says[k].text;
      line.className = `mhsa-says mhsa-name-${says[k].kind}`;
    }
  }
  return { node, draw, settle };
}
