// @ts-check
// What every implementation answers for a row of the mask that allows nothing.

import { el, scroller } from "../shared/elements.js";
import { rowName } from "../shared/tables.js";
import { answered } from "./words.js";

/** @import { Model } from "../shared/traits.js" */
/** @typedef {{ implementation: string, weights: string, gradient: string }} Answer */

const NONE = "No row is empty. Press a token's name at the left of the mask to empty its row.";

/** @type {(text: string) => HTMLElement} */
const remark = (text) => el("p", { class: "mhsa-key" }, text);

/**
 * The answers, if there is an empty row; else how to make one.
 * @type {(empty: number[], tokens: string[], model: Model) => HTMLElement[]}
 */
export function emptyAnswers(empty, tokens, model) {
  if (empty.length === 0) return [remark(NONE)];
  /** @type {(text: string, good: boolean) => HTMLElement} */
  const cell = (text, good) => el("td", { class: good ? null : "mhsa-bad" }, text);
  /** @type {(answer: Answer) => HTMLElement} */
  const line = ({ implementation, weights, gradient }) => {
    const found = cell(answered(weights, tokens.length), weights === "zeros");
    return el("tr", {}, rowName(implementation), found, cell(gradient, gradient === "finite"));
  };
  const titles = ["implementation", `weights of “${tokens[empty[0]]}”`, "gradient of all keys"];
  const head = titles.map((title) => el("th", { scope: "col" }, title));
  const lines = /** @type {Answer[]} */ (model.get("answers")).map(line);
  const table = el(
    "table",
    { class: "mhsa-answers" },
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, lines),
  );
  return [
    el("p", { class: "mhsa-title" }, "An empty row, in each implementation"),
    scroller("Answers for an empty row", table),
    remark(
      `Run with torch ${model.get("torch_version")} on a CPU, in float32. `
        + "The gradient is that of a loss that leaves the empty row out.",
    ),
  ];
}
