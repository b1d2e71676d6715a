// @ts-check
// Buttons under the words about a head: to compare it, and to save it.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { write } from "../shared/traits.js";
import { csv, download, svgFile } from "./downloads.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { LargeHeads } from "./selected_head.js" */
/** @import { Heads, Shown } from "./shown_weights.js" */

/**
 * Buttons to compare the chosen head with another one, and to save what is shown.
 * @param {Model} model @param {Heads} heads @param {LargeHeads} large @param {() => Shown} shown
 * @param {AbortSignal} signal
 */
export function headButtons(model, heads, large, shown, signal) {
  const press = () => {
    const place = [model.get("layer"), model.get("head")];
    write(model, "compared", model.get("compared") ? null : place);
  };
  const compare = button({ label: "", signal, press });
  const both = () => [heads.current(), heads.twin()].filter((i) => i !== null);
  const nameOf = () =>
    both()
      .map((i) => shown().names[i].short)
      .join("-");
  function saveSvg() {
    const title = both().map((i) => shown().names[i].long);
    const views = large.views.slice(0, 2 * title.length - 1);
    download(`${nameOf()}.svg`, "image/svg+xml", svgFile(views, title.join(" and ")));
  }
  function saveCsv() {
    const { seen, names } = shown();
    const rows = both().map((i) => ({ ...names[i], weights: seen.weightsOf(i) }));
    download(`${nameOf()}.csv`, "text/csv", csv(rows, seen.queries, seen.keys));
  }
  const files = [
    button({ label: "Save SVG", signal, press: saveSvg }),
    button({ label: "Save CSV", signal, press: saveCsv }),
  ];
  function show() {
    const { names } = shown();
    const [one, j] = [names[heads.current()].short, heads.twin()];
    const asked = model.get("compared") !== null;
    const start = asked ? `Now choose a head beside ${one}` : `Compare ${one}`;
    compare.textContent = j === null ? start : `Stop comparing with ${names[j].short}`;
    compare.setAttribute("aria-pressed", `${asked}`);
  }
  return { node: el("div", { class: "mhsa-controls" }, compare, files), show };
}
