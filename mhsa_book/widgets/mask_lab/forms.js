// @ts-check
// The same mask as PyTorch's two conventions want it, and what happens when they are mixed up.

import { button, choice } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { softmax } from "../shared/tensor.js";
import { write } from "../shared/traits.js";
import { grid, showWeights } from "./grids.js";
import { inForm, inverted, nudged } from "./rules.js";
import { leaking, swapped } from "./words.js";

/** @import { Matrix } from "../shared/tensor.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Form, Mask } from "./rules.js" */

const FORM_NAMES = ["boolean", "additive"];

/**
 * One convention: its mask as a grid and as text to copy.
 * @param {string} api @param {string} short @param {string[]} tokens @param {AbortSignal} signal
 */
function copied(api, short, tokens, signal) {
  const table = grid(tokens, `Mask for ${api}`, "mhsa-words mhsa-small");
  const meaning = el("p", { class: "mhsa-key" });
  const text = el("pre", { tabindex: 0 });
  /** @type {(words: string) => void} */
  const label = (words) => {
    copy.textContent = words;
  };
  function press() {
    getSelection()?.selectAllChildren(text);
    const written = navigator.clipboard?.writeText(text.textContent) ?? Promise.reject();
    written.then(
      () => label("Copied"),
      () => label("Selected; press Ctrl+C"),
    );
  }
  const copy = button({ label: `Copy for ${short}`, signal, press });
  /** @type {(means: string, form: Form, on: Mask) => void} */
  const show = (means, { words, text: code }, on) => {
    meaning.textContent = means;
    words.forEach((row, query) =>
      row.forEach((word, key) => {
        const cell = table.cells[query][key];
        cell.textContent = word.replace("True", "T").replace("False", "F");
        cell.className = on[query][key] ? "mhsa-on" : "";
      }),
    );
    if (text.textContent !== code) label(`Copy for ${short}`);
    text.textContent = code;
  };
  const title = el("p", { class: "mhsa-title" }, el("code", {}, api));
  const node = el("div", {}, title, meaning, table.node);
  return { node, text: el("div", { class: "mhsa-text" }, text, copy), show };
}

/**
 * The mistake: what it means, the weights it leaves, and what they show.
 * @param {string[]} tokens
 */
function mistakeOf(tokens) {
  const [means, says] = [el("p", { class: "mhsa-key" }), el("p")];
  const weights = grid(tokens, "Weights after the mistake", "mhsa-weights mhsa-small");
  const title = el("p", { class: "mhsa-title" }, "The mistake");
  return { node: el("div", {}, title, means, weights.node, says), means, weights, says };
}

/**
 * All about the form of a mask: `nodes` in their order, and `show` for a mask and its scores.
 * @param {Model} model @param {string[]} tokens @param {AbortSignal} signal
 */
export function maskForms(model, tokens, signal) {
  const form = choice({
    label: "form",
    options: FORM_NAMES,
    value: 0,
    signal,
    change: (i) => write(model, "form", FORM_NAMES[i]),
  });
  const sdpa = copied("scaled_dot_product_attention", "SDPA", tokens, signal);
  const module = copied("nn.MultiheadAttention", "nn.MultiheadAttention", tokens, signal);
  const mistake = mistakeOf(tokens);

  /** @type {(mask: Mask, scores: Matrix) => void} */
  function showBoolean(mask, scores) {
    const opposite = inverted(mask);
    sdpa.show("True = may look", inForm("boolean", mask), mask);
    module.show("True = blocked", inForm("boolean", opposite), opposite);
    showWeights(mistake.weights, softmax(scores, opposite), opposite);
    mistake.means.textContent = "each handed to the other";
    mistake.says.textContent = swapped(opposite);
  }
  /** @type {(mask: Mask, scores: Matrix) => void} */
  function showAdditive(mask, scores) {
    const [written, wrong] = [inForm("additive", mask), nudged(scores, mask)];
    const everywhere = mask.map((row) => row.map(() => true));
    sdpa.show("0 is added, or −∞", written, mask);
    module.show("the same numbers", written, mask);
    showWeights(mistake.weights, wrong, everywhere);
    mistake.means.textContent = "1 and 0 in place of 0 and −∞";
    mistake.says.textContent = leaking(wrong, mask);
  }
  /** @type {(name: string, mask: Mask, scores: Matrix) => void} */
  function show(name, mask, scores) {
    form.show(FORM_NAMES.indexOf(name));
    if (name === "boolean") showBoolean(mask, scores);
    else showAdditive(mask, scores);
  }
  const nodes = [
    el("p", { class: "mhsa-title mhsa-rule" }, "The same mask for PyTorch"),
    el("div", { class: "mhsa-controls" }, form.node),
    el("div", { class: "mhsa-three" }, sdpa.node, module.node, mistake.node),
    el("div", { class: "mhsa-pair" }, sdpa.text, module.text),
  ];
  return { nodes, show };
}
