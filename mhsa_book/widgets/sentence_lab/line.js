// @ts-check
// The sentence: words that can be made to ask, and a switch for the last one.

import { el, uid } from "../shared/elements.js";
import { rove } from "../shared/roving_tabindex.js";

/** What the reader does. @typedef {{ ask: (w: number) => void, flip: (s: number) => void }} Acts */

/**
 * One of the last words; pressing it, or coming to it by Tab, makes it ask.
 * @param {string} text @param {string} name of all
 * @param {() => void} flip @param {AbortSignal} signal
 */
function lastWord(text, name, flip, signal) {
  const box = el("input", { type: "radio", name });
  box.addEventListener("change", flip, { signal });
  return { box, node: el("label", { class: "mhsa-last" }, box, el("span", {}, text)) };
}

/** @param {string[][]} sentences @param {Acts} acts @param {AbortSignal} signal */
export function sentenceLine(sentences, { ask, flip }, signal) {
  const end = sentences[0].length - 1;
  const words = sentences[0].slice(0, end).map((text, w) => {
    const node = el("button", { type: "button", class: "mhsa-word" }, text);
    node.addEventListener("click", () => ask(w), { signal });
    return node;
  });
  const name = uid();
  const ends = sentences.map((texts, s) => lastWord(texts[end], name, () => flip(s), signal));
  const move = rove(words, end, signal, ask);
  const boxes = ends.map(({ box }) => box);
  for (const box of boxes) box.addEventListener("focus", () => ask(end), { signal });
  // One step beyond the last of the words lies the switch.
  words[end - 1].addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") (boxes.find((box) => box.checked) ?? boxes[0]).focus();
  });
  const last = { class: "mhsa-lasts", role: "radiogroup", "aria-label": "The last word" };
  const about = { class: "mhsa-line", role: "group", "aria-label": "The word that asks" };
  const choice = el(
    "div",
    last,
    ends.map(({ node }) => node),
  );
  const node = el("div", about, words, choice);

  /** `lit`: the word that is the answer. @type {(s: number, w: number, lit: number) => void} */
  function show(s, w, lit) {
    words.forEach((word, i) => {
      word.setAttribute("aria-pressed", `${i === w}`);
      word.classList.toggle("mhsa-found", i === lit);
    });
    choice.classList.toggle("mhsa-asks", w === end);
    boxes.forEach((box, i) => {
      box.checked = i === s;
    });
    if (w < end) move(w);
  }

  /** The middle of every word, from the left of the line. @type {(s: number) => number[]} */
  function middles(s) {
    const { left } = node.getBoundingClientRect();
    return [...words, ends[s].node].map((one) => {
      const box = one.getBoundingClientRect();
      return box.left + box.width / 2 - left;
    });
  }
  return { node, choice, show, middles };
}
