// @ts-check
// What a reader sets for all heads: the text, the order, and tokens that are hidden.

import { check, choice } from "../shared/controls.js";
import { el, uid } from "../shared/elements.js";
import { isSpecial, spelled } from "../shared/tokens.js";
import { write } from "../shared/traits.js";
import { kept } from "./head_filters.js";
import { MEASURES } from "./measures.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Attention } from "./shown_weights.js" */

export const DIRECTIONS = ["query to key", "key to query"];
const OPTIONS = {
  sort: ["layer", ...Object.keys(MEASURES)],
  view: ["heat map", "lines"],
  direction: DIRECTIONS,
};

/**
 * The field for another text, where Python can read one.
 * @param {Model} model
 * @param {AbortSignal} signal
 */
export function textField(model, signal) {
  const hints = { placeholder: "a sentence, then Enter", enterkeyhint: "go" };
  const typed = el("input", { type: "text", id: uid(), maxlength: 5000, ...hints });
  const send = () => {
    if (typed.value !== model.get("text")) write(model, "text", typed.value);
  };
  /** @type {(event: KeyboardEvent) => void} */
  const keyed = ({ key }) => {
    if (key === "Enter") send();
  };
  typed.addEventListener("change", send, { signal });
  typed.addEventListener("keydown", keyed, { signal });
  const node = el("div", { class: "mhsa-text" }, el("label", { for: typed.id }, "text"), typed);
  function show() {
    node.hidden = model.get("text") === null;
    typed.value = model.get("text") ?? "";
    typed.setAttribute("aria-invalid", `${model.get("problem") !== ""}`);
  }
  return { node, show };
}

/**
 * A choice for a trait that has options.
 * @param {Model} model
 * @param {keyof typeof OPTIONS} trait
 * @param {AbortSignal} signal
 */
export function optionOf(model, trait, signal) {
  const options = OPTIONS[trait];
  const value = options.indexOf(model.get(trait));
  const label = trait === "view" ? "draw as" : trait;
  /** @type {(i: number) => void} */
  const change = (i) => write(model, trait, options[i]);
  const made = choice({ label, options, value, signal, change });
  return { node: made.node, show: () => made.show(options.indexOf(model.get(trait))) };
}

/**
 * A switch for every token that can be hidden, special ones apart.
 * @param {Model} model
 * @param {AbortSignal} signal
 */
export function hiding(model, signal) {
  const special = el("span", { class: "mhsa-tokens" });
  const others = el("div", { class: "mhsa-tokens" });
  const summary = el("summary");
  const hide = el("details", {}, summary, others);
  const divide = check({
    label: "divide what is left of a row by its sum",
    value: true,
    signal,
    change: (on) => write(model, "renormalise", on),
  });
  /** @type {(token: string) => ReturnType<typeof check> & { token: string }} */
  const box = (token) => {
    /** @type {(on: boolean) => void} */
    const change = (on) => {
      const hidden = /** @type {string[]} */ (model.get("hidden"));
      const rest = hidden.filter((one) => one !== token);
      write(model, "hidden", [...rest, ...(on ? [token] : [])]);
    };
    const label = isSpecial(token) ? `hide ${token}` : spelled(token);
    return { token, ...check({ label, value: false, signal, change }) };
  };
  let boxes = /** @type {ReturnType<typeof box>[]} */ ([]);

  /** @type {(attention: Attention) => void} */
  function build({ tokens, keys }) {
    boxes = [...new Set([...tokens, ...keys])].map(box);
    const groups = Object.entries({ special, others });
    for (const [kind, place] of groups) {
      const own = boxes.filter(({ token }) => isSpecial(token) === (kind === "special"));
      place.replaceChildren(...own.map(({ node }) => node));
    }
    summary.textContent = special.firstChild ? "hide other tokens" : "hide tokens";
  }
  /** @type {(attention: Attention, hidden: string[]) => void} */
  function show({ tokens, keys }, hidden) {
    for (const { token, box, node, show } of boxes) {
      const on = hidden.includes(token);
      const rest = [...hidden, token];
      show(on);
      box.disabled = !on && [tokens, keys].some((names) => !kept(names, rest).length);
      node.title = box.disabled ? "the last token stays" : "";
    }
    divide.show(model.get("renormalise"));
    divide.node.hidden = !hidden.length;
  }
  return { nodes: [special, divide.node, hide], build, show };
}
