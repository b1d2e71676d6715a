// @ts-check
// Which head wrote this coordinate: bars cut into what each head added, over the rows of W_O that
// each head owns, and the selected number written out.

import { SERIES } from "../shared/colours.js";
import { check, choice } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { frame } from "../shared/frame.js";
import { rove } from "../shared/roving_tabindex.js";
import { spoken } from "../shared/spoken.js";
import { spelled } from "../shared/tokens.js";
import { watch, write } from "../shared/traits.js";
import { wholePicture } from "./picture.js";
import { apart, product, summed, written } from "./sums.js";
import { biasTerm, productLine, swatch, term, describe, totalLine } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Ink } from "./words.js" */

const HATCHES = ["", "M0 6L6 0", "M3 3h.1", "M0 0L6 6M0 6L6 0", "M0 0L6 6", "M0 3H6"];

/**
 * What never changes: the numbers, and a name, a fill and a part of y for each head.
 * @param {Model} model
 */
function given(model) {
  const z = /** @type {Matrix[]} */ (model.get("z"));
  const W_O = /** @type {Matrix} */ (model.get("W_O"));
  const bias = /** @type {number[] | null} */ (model.get("bias"));
  const tokens = /** @type {string[]} */ (model.get("tokens"));
  const columns = /** @type {string[]} */ (model.get("columns")).map((name) => spelled(name, 10));
  const heads = z.map((_, h) => h);
  const names = [...heads.map((h) => `head ${h}`), ...(bias ? ["the bias"] : [])];
  const parts = [...written(z, W_O), ...(bias ? [tokens.map(() => bias)] : [])];
  /** @type {Ink[]} */
  const inks = parts.map((_, i) => ({
    id: uid(),
    colour: i < z.length ? SERIES[i % 8] : "#bbbbbb",
    hatch: HATCHES[i % 6],
  }));
  return { z, W_O, bias, tokens, columns, heads, names, parts, inks };
}

/** @typedef {ReturnType<typeof given>} Numbers */

/**
 * A choice of the token and a switch for each head.
 * @param {Model} model
 * @param {Numbers} numbers
 * @param {AbortSignal} signal
 */
function controlsOf(model, { heads, names, tokens, inks }, signal) {
  const off = () => /** @type {number[]} */ (model.get("off"));
  /** @type {(h: number, on: boolean) => void} */
  const turn = (h, on) => {
    const others = off().filter((i) => i !== h);
    write(model, "off", on ? others : [...off(), h].sort((a, b) => a - b));
  };
  const switches = heads.map((h) =>
    check({ label: names[h], value: true, signal, change: (on) => turn(h, on) }),
  );
  switches.forEach(({ node }, h) => node.append(swatch(inks[h])));
  const token = choice({
    label: "token",
    options: tokens.map((text, q) => `${q}: ${spelled(text)}`),
    value: model.get("position"),
    signal,
    change: (q) => write(model, "position", q),
  });
  return { off, switches, token };
}

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "output-sum");
  const numbers = given(model);
  const { z, W_O, bias, tokens, columns, heads, names, parts, inks } = numbers;
  const width = W_O.length / z.length;
  const { off, switches, token } = controlsOf(model, numbers, signal);
  const picture = wholePicture(z, W_O, columns, inks);
  const said = spoken();
  const sums = el("div", { class: "mhsa-sums" });
  const nodes = switches.map(({ node }) => node);
  const sides = picture.narrow ? "mhsa-sides mhsa-beside" : "mhsa-sides";
  body.append(
    el("div", { class: "mhsa-controls mhsa-at-hand" }, token.node, nodes),
    el("div", { class: sides }, picture.node, sums),
    said.node,
  );

  /** @type {(c: number) => void} */
  const select = (c) => write(model, "coordinate", c);
  const { cells } = picture;
  const move = rove(cells, cells.length, signal, select);
  cells.forEach((node, c) => node.addEventListener("pointerenter", () => select(c), { signal }));

  let bars = ""; // which bars are drawn: selecting a coordinate leaves them as they are
  /** @type {Matrix} */
  let total = [];
  /** @type {Matrix} */
  let whole = [];

  /** @type {(q: number, silent: number[]) => void} */
  function drawBars(q, silent) {
    if (bars === `${q}: ${silent}`) return;
    bars = `${q}: ${silent}`;
    total = summed(parts, silent);
    whole = product(z, W_O, bias, silent);
    token.show(q);
    switches.forEach((one, h) => one.show(!silent.includes(h)));
    picture.draw(q, parts, total, silent);
  }

  /**
   * The selected number written out.
   * @type {(q: number, c: number, silent: number[]) => HTMLElement[]}
   */
  function terms(q, c, silent) {
    const spot = { q, column: columns[c] };
    const lines = heads.map((h) => {
      const column = W_O.slice(h * width, (h + 1) * width).map((row) => row[c]);
      return term(h, z[h][q], column, spot, inks[h], parts[h][q][c], silent.includes(h));
    });
    const on = parts.filter((_, i) => !silent.includes(i)).map((part) => part[q][c]);
    return [
      ...lines,
      ...(bias ? [biasTerm(inks[heads.length], bias[c], spot)] : []),
      totalLine(spot, on, total[q][c]),
      productLine(bias !== null, whole[q][c], whole, apart(whole, total)),
    ];
  }

  function draw() {
    const [q, c, silent] = [model.get("position"), model.get("coordinate"), off()];
    drawBars(q, silent);
    cells.forEach((node, i) => node.setAttribute("aria-checked", `${i === c}`));
    move(c);
    sums.replaceChildren(...terms(q, c, silent));
    const values = parts.map((part) => part[q][c]);
    said.say(describe(names, values, tokens[q], columns[c], silent));
  }

  watch(model, ["position", "coordinate", "off"], draw, signal);
  draw();
  return end;
}

export default { render };
