// @ts-check
// The first figure of the book: what a language model writes next, the arcs of one of its heads,
// and nine heads to switch off.

import { button } from "../shared/controls.js";
import { el } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { upTo } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { caseOf, chancesOf, decoded, largestAt, switched, weightsOf } from "./cases.js";
import { nextWords } from "./next_words.js";
import { nineTiles } from "./nine_tiles.js";
import { sentence } from "./sentence.js";
import { attends, gives, moves, nameOf, once, outcome, points } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Says } from "./nine_tiles.js" */
/** A button that sets which heads are off. @typedef {[string, number[], string]} Walk */

const CHOSEN = ["off", "head", "word"];

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "nine-heads");
  const sent = readAll(model, ["heads", "tokens", "words", "chances", "rows", "maps"]);
  const { tokens, words } = /** @type {{ tokens: string[], words: string[] }} */ (sent);
  const cases = decoded(/** @type {import("./cases.js").Sent} */ (sent));
  const names = cases.heads.map(nameOf);
  const jobs = /** @type {string[]} */ (model.get("jobs"));
  const walks = /** @type {Walk[]} */ (model.get("walks"));
  const last = tokens.length - 1;
  const kind = (/** @type {string} */ word) => {
    const at = words.indexOf(word);
    return at < 2 ? at : -1;
  };

  // What the reader points at, for as long as he does, and the bar that he has pressed.
  const pointed = { head: -1, word: -1, bar: -1 };
  let held = -1;
  /** @type {(what: "head" | "word" | "bar") => (i: number) => void} */
  const point = (what) => (i) => {
    pointed[what] = i;
    draw();
  };
  const turn = (/** @type {number} */ k) =>
    writeAll(model, { head: k, off: switched(model.get("off"), k) });
  const look = (/** @type {number} */ k) => {
    if (model.get("head") !== k) write(model, "head", k);
  };

  const line = sentence({
    tokens,
    kind,
    ask: (w) => write(model, "word", w),
    point: point("word"),
    signal,
  });
  const bars = nextWords({
    words,
    point: point("bar"),
    press(w) {
      held = held === w ? -1 : w;
      draw();
    },
    signal,
  });
  const sides = /** @type {[string, number[]][]} */ (model.get("sides"));
  const tiles = nineTiles({ names, sides, look, point: point("head"), turn, signal });
  const presets = walks.map(([label, off]) =>
    button({ label, signal, press: () => writeAll(model, { off: [...off], word: last }) }),
  );
  const [looked, said] = [spoken(), spoken()];
  looked.node.classList.add("mhsa-looked");
  const about = { class: "mhsa-guide", role: "group", "aria-label": "Heads to switch off" };
  const guide = el(
    "div",
    about,
    el("span", {}, el("span", { class: "mhsa-wide" }, "Switch "), "off:"),
    presets,
  );
  const asks = el("p", { class: "mhsa-asks" }, model.get("asks"));
  const below = el("p", { class: "mhsa-hint" }, model.get("about"));
  const told = el("div", { class: "mhsa-told" }, guide, said.node);
  const both = el("div", { class: "mhsa-both" }, bars.node, tiles.node);
  const room = [roomFor(looked.node), roomFor(said.node)];
  const seen = el("div", { class: "mhsa-seen" }, looked.node, room[0].node);
  told.append(room[1].node);
  body.append(asks, line.node, seen, told, both, below);

  let [flowing, from] = [-1, -1];
  function draw() {
    const { head, word } = readAll(model, CHOSEN);
    const off = /** @type {number[]} */ ([...new Set(model.get("off"))]); // a link may repeat one
    const shown = pointed.head >= 0 ? pointed.head : head;
    const bar = pointed.bar >= 0 ? pointed.bar : held;
    const row = weightsOf(cases, shown, off, word);
    const chances = chancesOf(cases, off);
    const best = largestAt(chances.slice(0, words.length));

    line.say(words[best], best === bar);
    line.draw(row, word, bar >= 0 ? tokens.indexOf(words[bar]) : pointed.word, off.includes(shown));
    const would = pointed.head >= 0 ? chancesOf(cases, switched(off, shown)) : null;
    bars.draw(chances, would, held);
    tiles.draw(
      upTo(names.length).map((k) => ofTile(k, off, word, bar)),
      off,
      shown,
    );
    tiles.settle(2 * head);
    presets.forEach((one, i) =>
      one.setAttribute("aria-pressed", `${caseOf(walks[i][1]) === caseOf(off)}`),
    );
    looked.say(ofHead(shown, off, word, bar), pointed.head >= 0 || pointed.word >= 0 ? 0 : 250);
    said.say(ofCase(off, chances));
    // Once where a head comes into sight, not with every move of the mouse.
    if (flowing !== shown || from !== word) line.flowAlong(row);
    [flowing, from] = [shown, word];
  }

  /** @type {(k: number, off: number[], word: number, bar: number) => Says} */
  function ofTile(k, off, word, bar) {
    if (bar >= 0) {
      const change = chancesOf(cases, switched(off, k))[bar] - chancesOf(cases, off)[bar];
      return { text: points(change), kind: Math.abs(change) < 0.0005 ? -1 : Math.min(bar, 1) };
    }
    const best = largestAt(weightsOf(cases, k, off, word));
    return { text: best === word ? "→ itself" : `→ ${tokens[best]}`, kind: kind(tokens[best]) };
  }

  /** @type {(k: number, off: number[], word: number, bar: number) => string} */
  function ofHead(k, off, word, bar) {
    const row = weightsOf(cases, k, off, word);
    if (bar >= 0) return moves(bar < words.length ? `“${words[bar]}”` : "all other words");
    if (pointed.word >= 0) return gives(tokens, row, names[k], word, pointed.word);
    const job = word === last ? ` ${jobs[k]}` : "";
    const would = chancesOf(cases, switched(off, k));
    return `${attends(tokens, row, names[k], word)}${job} ${once(words, would, off.includes(k))}`;
  }

  /** @type {(off: number[], chances: number[]) => string} */
  function ofCase(off, chances) {
    const walk = walks.find(([, some]) => caseOf(some) === caseOf(off));
    const text = outcome(words, chances, off, model.get("of"));
    return walk ? `${text} ${walk[2]}` : text;
  }
  // A finger does not leave what it has touched: the next touch is about something else.
  const touched = (/** @type {PointerEvent} */ { pointerType }) => {
    if (pointerType === "touch") pointed.word = -1;
  };
  body.addEventListener("pointerdown", touched, { signal, capture: true });
  /** Nothing below the two sentences moves, whatever they say. */
  function makeRoom() {
    const all = upTo(names.length);
    room[0].make(all.flatMap((k) => [[], [k]].map((off) => ofHead(k, off, last, -1))));
    room[1].make(walks.map(([, off]) => ofCase(off, chancesOf(cases, off))));
  }
  watch(model, CHOSEN, draw, signal);
  const fit = () => {
    makeRoom();
    draw();
  };
  drawToFit(line.node, fit, signal);
  return end;
}

/**
 * Room for the longest of some texts: a second line like `line`, that nobody sees, tries them.
 * @param {HTMLElement} line
 */
function roomFor(line) {
  const node = el("p", { class: "mhsa-trial", "aria-hidden": "true" });
  /** @type {(texts: string[]) => void} */
  const make = (texts) => {
    const heights = texts.map((text) => {
      node.textContent = text;
      return node.getBoundingClientRect().height; // offsetHeight rounds: half a pixel jumps
    });
    node.textContent = "";
    line.style.minHeight = `${Math.max(...heights)}px`;
  };
  return { node, make };
}

export default { render };
