// @ts-check
// Cells of tables whose first column is words and whose others are numbers.

import { el } from "./elements.js";

/** @type {(text: string) => HTMLElement} */
export const numberCell = (text) => el("td", { class: "mhsa-number" }, text);

/** @type {(text: string) => HTMLElement} */
export const rowName = (text) => el("th", { scope: "row" }, text);

/**
 * Titles of columns: of numbers unless told otherwise, empty ones as cells without a meaning.
 * @type {(titles: string[], isNumber?: (i: number) => boolean) => HTMLElement}
 */
export function tableHead(titles, isNumber = () => true) {
  const cells = titles.map((title, i) => {
    const look = isNumber(i) ? "mhsa-number" : null;
    return title ? el("th", { scope: "col", class: look }, title) : el("td", { class: look });
  });
  return el("thead", {}, el("tr", {}, cells));
}
