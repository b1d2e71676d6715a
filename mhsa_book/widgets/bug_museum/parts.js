// @ts-check
// The parts of an exhibit: its lines, maps, shares, and where it was found.

import { el, scroller } from "../shared/elements.js";
import { numberCell, rowName, tableHead } from "../shared/tables.js";
import { drawnMap } from "./maps.js";
import { SHARES, percent } from "./words.js";

/** @import { Exhibit } from "./words.js" */
/** @typedef {{ map: string, losses: (number | null)[][] }} Right */

/** @type {(words: string, big?: boolean) => HTMLElement} */
export const titled = (words, big = false) =>
  el("p", { class: big ? "mhsa-title mhsa-big" : "mhsa-title" }, words);

/** @type {(...words: (Node | string)[]) => HTMLElement} */
export const remarked = (...words) => el("p", { class: "mhsa-key" }, words);

/** Lines that go and lines that come. @type {(lines: string[]) => HTMLElement} */
export function changed(lines) {
  /** @type {Record<string, string>} */
  const looks = { "-": "mhsa-gone", "+": "mhsa-new" };
  const spans = lines.map((line) => el("span", { class: looks[line[0]] ?? null }, line));
  return el(
    "pre",
    { tabindex: 0, "aria-label": "Lines that go, −, and lines that come, +" },
    spans,
  );
}

/** @type {(each: Exhibit) => HTMLElement} */
export function tested(each) {
  const rows = Object.entries(SHARES).map(([share, says]) => {
    const [wrong, right] = each.shares[share];
    return el("tr", {}, rowName(says), numberCell(percent(wrong)), numberCell(percent(right)));
  });
  const head = tableHead(["share of right answers", "mistake", "right"], (i) => i > 0);
  return scroller(
    "Shares",
    el("table", { "aria-label": "Shares of right answers" }, head, el("tbody", {}, rows)),
  );
}

/** @type {(each: Exhibit) => HTMLElement[]} */
export function inTheWild(each) {
  const lines = each.found.map(({ url, project, what, exact }) => {
    const link = el("a", { href: url, target: "_blank", rel: "noopener" }, project);
    return el("li", {}, link, `: ${what}`, exact ? "" : " (a near relative)");
  });
  return lines.length ? [titled("Found in the wild"), el("ul", {}, lines)] : [];
}

/** @type {(each: Exhibit, right: Right, names: string[], head: number) => HTMLElement} */
export function beside(each, right, names, head) {
  const about = remarked("The right one's weights; rows are queries. A cross is NaN.");
  const good = drawnMap(right.map, head, names, `Right map of head ${head}`);
  const bad = each.map
    ? drawnMap(each.map, head, names, `Map of head ${head} with the mistake`)
    : remarked(`No map: ${each.error || "it raises an error"}.`);
  const side = [
    el("div", {}, titled("Right"), good),
    el("div", {}, titled("With the mistake"), bad),
  ];
  return el("div", {}, el("div", { class: "mhsa-two" }, side), about);
}
