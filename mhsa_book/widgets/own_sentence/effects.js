// @ts-check
// Each head switched off in turn, and what that changes, sorted.

import { button } from "../shared/controls.js";
import { el, scroller } from "../shared/elements.js";
import { fixed, upTo } from "../shared/numbers.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";

/** What one head off leaves, and by how much that differs. @typedef {{ head: number,
 *   cosine: number, change: number }} Effect */

/**
 * The largest change first, whatever its sign.
 * @type {(cosines: number[], whole: number) => Effect[]}
 */
export const sorted = (cosines, whole) =>
  cosines
    .map((cosine, head) => ({ head, cosine, change: cosine - whole }))
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));

/** @type {(value: number) => string} */
const signed = (value) => (value > 0 ? `+${fixed(value, 4)}` : fixed(value, 4));

/** @type {(effect: Effect, most: number, name: string) => HTMLElement} */
function row({ cosine, change }, most, name) {
  const share = most > 0 ? Math.abs(change) / most : 0;
  const bar = el("span", {
    class: change > 0 ? "mhsa-more" : "mhsa-less",
    style: `--share:${share}`,
  });
  const cells = [numberCell(fixed(cosine, 4)), numberCell(signed(change)), el("td", {}, bar)];
  return el("tr", {}, rowName(name), cells);
}

/**
 * A button, how far it has come, and a table. `effectOf` gives the cosine without one head, and
 * null when nobody wants it any more; `whole` the cosine with all heads.
 * @param {{ label: string, caption: string, n: number, nameOf: (head: number) => string,
 *   whole: () => number, effectOf: (head: number) => Promise<number | null>,
 *   signal: AbortSignal }} about
 */
export function effects({ label, caption, n, nameOf, whole, effectOf, signal }) {
  const bar = el("progress", { max: n, value: 0, "aria-label": `${label}: heads so far` });
  const said = el("p", { role: "status", class: "mhsa-quiet" });
  const place = scroller(label);
  const about = el("p", { class: "mhsa-quiet" }, caption);
  const start = button({ label, signal, press });
  const node = el("div", { class: "mhsa-effects" }, start, bar, said, about, place);
  /** Take away what was found of other texts. */
  function clear() {
    [bar.hidden, place.hidden, said.textContent] = [true, true, ""];
    start.disabled = false;
  }
  async function press() {
    const focused = document.activeElement === start;
    [start.disabled, bar.hidden, place.hidden] = [true, false, true];
    said.textContent = `Switching ${n} heads off, one at a time.`;
    const cosines = [];
    for (const head of upTo(n)) {
      bar.value = head;
      const cosine = await effectOf(head);
      if (cosine === null) return;
      cosines.push(cosine);
    }
    const found = sorted(cosines, whole());
    const most = Math.abs(found[0].change);
    const titles = tableHead(["", "cosine without", "change", ""], (i) => i < 3);
    const rows = found.map((one) => row(one, most, nameOf(one.head)));
    const table = el("table", { "aria-label": label }, titles, el("tbody", {}, rows));
    place.replaceChildren(table);
    [start.disabled, bar.hidden, place.hidden] = [false, true, false];
    if (focused && document.activeElement === document.body) start.focus({ preventScroll: true });
    const first =
      `${nameOf(found[0].head)} changes it most: ${signed(found[0].change)}. `
      + `All ${n} heads, the largest change first:`;
    said.textContent = most < 0.00005 ? "No head changes it." : first;
  }
  clear();
  return { node, clear };
}
