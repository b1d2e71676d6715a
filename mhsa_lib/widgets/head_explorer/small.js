// All heads small: a button each, in the order of the model or of a measure.

import { el, fixed } from "../shared/kit.js";
import { MEASURES, ranked } from "./measures.js";
import { paint } from "./views.js";

/** A number of a measure, or a dash where there is nothing to measure. */
export const measured = (value) => (Number.isNaN(value) ? "–" : fixed(value));

export class SmallHeads {
  constructor(signal, choose) {
    this.node = el("div", {
      class: "mhsa-heads",
      role: "group",
      "aria-label": "All heads; arrow keys choose one",
    });
    this.node.addEventListener(
      "click",
      ({ target }) => {
        const i = this.heads.findIndex(({ node }) => node.contains(target));
        if (i >= 0) choose(i);
      },
      { signal },
    );
    this.node.addEventListener(
      "keydown",
      (event) => {
        const at = this.order.indexOf(this.chosen);
        const line = this.heads[this.order[0]].node.offsetTop;
        const second = this.order.findIndex((i) => this.heads[i].node.offsetTop !== line);
        const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: second, ArrowUp: -second }[
          event.key
        ];
        const next = this.order[{ Home: 0, End: this.order.length - 1 }[event.key] ?? at + step];
        if (next === undefined) return;
        event.preventDefault();
        choose(next);
        this.heads[next].node.focus();
      },
      { signal },
    );
  }

  /** So many heads; `names` are objects with a short and a long name, `size` is queries and keys. */
  build(names, columns, size) {
    Object.assign(this, { columns, size, sorted: null });
    const [height, width] = size;
    this.node.style.setProperty("--heads", columns);
    this.heads = names.map((name) => {
      const [canvas, caption] = [
        el("canvas", { "aria-hidden": "true", width, height }),
        el("span"),
      ];
      const node = el(
        "button",
        { type: "button", class: "mhsa-head", title: name.long },
        canvas,
        caption,
      );
      return { node, canvas, caption, name };
    });
  }

  /** What is left is stretched over the whole: other sizes for all the canvases take 20 ms. */
  paint(weights, rows, columns) {
    this.node.style.setProperty("--down", this.size[0] / rows);
    this.node.style.setProperty("--across", this.size[1] / columns);
    paint(
      this.heads.map(({ canvas }) => canvas),
      weights,
      rows,
      columns,
    );
  }

  sort(measuresOf, measure) {
    const byMeasure = measure in MEASURES;
    this.order = ranked(this.heads.length, measuresOf, measure);
    if (!byMeasure && this.sorted === false) return; // in the model's own order nothing moves
    this.sorted = byMeasure;
    this.node.classList.toggle("mhsa-sorted", byMeasure);
    const nodes = this.order.map((i) => {
      const { node, caption, name } = this.heads[i];
      caption.textContent = byMeasure ? `${name.short} ${measured(measuresOf(i)[measure])}` : "";
      return node;
    });
    const label = (i) => el("span", { "aria-hidden": "true" }, i);
    const lines = nodes.flatMap((node, i) =>
      byMeasure || i % this.columns ? [node] : [label(i / this.columns), node],
    );
    const above = byMeasure
      ? []
      : Array.from({ length: this.columns + 1 }, (_, i) => label(i ? i - 1 : ""));
    this.node.replaceChildren(...above, ...lines);
    this.choose(this.chosen, this.compared);
  }

  choose(chosen, compared) {
    Object.assign(this, { chosen, compared });
    this.heads.forEach(({ node, caption, name }, i) => {
      node.setAttribute("aria-pressed", i === chosen);
      node.setAttribute("tabindex", i === chosen ? 0 : -1);
      node.classList.toggle("mhsa-compared", i === compared);
      node.setAttribute(
        "aria-label",
        `${caption.textContent} ${name.long}${i === compared ? ", compared" : ""}`.trim(),
      );
    });
  }
}
