// @ts-check
// Two sentences: how alike they are, token by token, and which head changes that most.

import { el, uid } from "../shared/elements.js";
import { clamp, fixed } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { isSpecial, quoted } from "../shared/tokens.js";
import { headView } from "../head_explorer/head_map.js";
import { arrowKeys } from "../head_explorer/arrow_keys.js";
import { effects } from "./effects.js";

/** @import { Ask } from "../shared/worker_client.js" */
/** @import { Pair } from "./engine/reader.js" */

const BESIDE = { down: "first", across: "second", heard: "first sentence down, second across" };
const CAPTION_OF_TWO =
  "The cosine of the two sentence vectors with one head off in both, and how far that is from "
  + "the cosine with all heads on. It is what one head changes while all others stay, not its "
  + "share: heads stand in for each other, and the changes do not add up.";

/**
 * Where a word stands that both have, the longest; the beginning where there is none.
 * @type {(one: string[], other: string[]) => [row: number, column: number]}
 */
export function shared([...one], other) {
  const both = one.filter((token) => other.includes(token) && !isSpecial(token));
  const [word] = both.sort((a, b) => b.length - a.length);
  return word === undefined ? [0, 0] : [one.indexOf(word), other.indexOf(word)];
}

/** How many tokens of each were cut. @type {(cut: number[]) => string} */
export function cutInWords([one, other]) {
  if (one && other) return " Both were cut.";
  if (one || other) return ` The ${one ? "first" : "second"} was cut.`;
  return "";
}

/** @param {string} label @param {string} text @param {() => void} change
 * @param {AbortSignal} signal */
function field(label, text, change, signal) {
  const typed = el("input", { type: "text", id: uid(), maxlength: 5000, autocomplete: "off" });
  typed.value = text;
  typed.addEventListener("change", change, { signal });
  const node = el("div", { class: "mhsa-text" }, el("label", { for: typed.id }, label), typed);
  return { node, text: () => typed.value };
}

/**
 * @param {{ ask: Ask, texts: [string, string], n: number, nameOf: (head: number) => string,
 *   signal: AbortSignal }} about
 */
export function twoSentences({ ask, texts, n, nameOf, signal }) {
  const titles = ["first", "second"];
  const fields = texts.map((text, i) => field(titles[i], text, compare, signal));
  const [whole, told] = [el("p", { class: "mhsa-alike", role: "status" }), spoken()];
  const view = headView(signal, point);
  let pair = /** @type {Pair | null} */ (null);
  let [row, column, asked] = [0, 0, 0];

  /** @type {(place: { row?: number, column?: number }) => void} */
  function point(place) {
    if (!pair) return;
    ({ row = row, column = column } = place);
    const value = fixed(view.at(row, column), 2);
    const [a, b] = [pair.tokens[0][row], pair.tokens[1][column]];
    const says = `${quoted(a)} here and ${quoted(b)} there: cosine ${value}`;
    view.mark(row, column, false, says);
    told.say(`${says}.`);
  }
  arrowKeys(view.grid, signal, (down, across) => {
    const [one, other] = pair?.tokens ?? [[""], [""]];
    point({
      row: clamp(row + down, 0, one.length - 1),
      column: clamp(column + across, 0, other.length - 1),
    });
  });
  const heads = effects({
    label: "Which head changes this cosine most?",
    caption: CAPTION_OF_TWO,
    n,
    nameOf,
    whole: () => pair?.cosine ?? 0,
    async effectOf(head) {
      const turn = asked;
      const cosine = await ask(
        "effect",
        fields.map(({ text }) => text()),
        head,
      );
      return turn === asked ? cosine : null;
    },
    signal,
  });

  function draw() {
    if (!pair) return;
    /** @type {(tokens: string[]) => { at: number, token: string }[]} */
    const named = (tokens) => tokens.map((token, at) => ({ at, token }));
    const [queries, keys] = pair.tokens.map(named);
    const title = "cosine of each pair of tokens, in their last vectors";
    const about = { weights: pair.pairs, queries, keys, title, name: title, sides: BESIDE };
    view.draw({ ...about, signed: true, width: view.node.clientWidth });
    point({ row, column });
  }
  async function compare() {
    const turn = (asked += 1);
    heads.clear();
    const found = /** @type {Pair} */ (await ask("pair", ...fields.map(({ text }) => text()), []));
    if (turn !== asked) return;
    pair = found;
    const cut = cutInWords(found.cut);
    whole.textContent = `The two sentence vectors have a cosine of ${fixed(pair.cosine, 3)}.${cut}`;
    [row, column] = shared(pair.tokens[0], pair.tokens[1]);
    draw();
  }
  const scale = el(
    "p",
    { class: "mhsa-quiet" },
    "blue: alike, up to 1; no colour: 0; orange: opposed",
  );
  const map = el("div", { class: "mhsa-head-explorer" }, view.node, scale, told.node);
  const node = el(
    "section",
    { class: "mhsa-two", "aria-label": "Two sentences" },
    el("p", { class: "mhsa-title" }, "Two sentences, all heads on"),
    fields.map((one) => one.node),
    whole,
    el("div", { class: "mhsa-beside" }, map, heads.node),
  );
  const resized = new ResizeObserver(() => {
    if (view.node.clientWidth !== view.width()) draw();
  });
  resized.observe(view.node);
  signal.addEventListener("abort", () => resized.disconnect());
  return { node, compare };
}
