// @ts-check
// The first figure of the book: what a language model writes next, the arcs of one of its heads,
// and nine heads to switch off.

import { el } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { upTo } from "../shared/numbers.js";
import { spoken } from "../shared/spoken.js";
import { readAll, watch, write, writeAll } from "../shared/traits.js";
import { chancesOf, decoded, largestAt, switched, weightsOf } from "./cases.js";
import { nextWords } from "./next_words.js";
import { nineTiles } from "./nine_tiles.js";
import { presets } from "./presets.js";
import { roomFor } from "./room.js";
import { sayings } from "./sayings.js";
import { sentence } from "./sentence.js";
import { nameOf } from "./words.js";

/** @import { Place } from "../shared/frame.js" */
/** @import { Walk } from "./sayings.js" */

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
  const of = /** @type {number} */ (model.get("of"));
  const kind = (/** @type {string} */ word) => {
    const at = words.indexOf(word);
    return at < 2 ? at : -1;
  };
  const { ofTile, ofHead, ofCase } = sayings({
    cases,
    names,
    tokens,
    words,
    jobs,
    walks,
    of,
    kind,
  });

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
  const set = (/** @type {number[]} */ off) => writeAll(model, { off: [...off], word: last });
  const guide = presets({ walks, set, signal });
  const [looked, said] = [spoken(), spoken()];
  looked.node.classList.add("mhsa-looked");
  const asks = el("p", { class: "mhsa-asks" }, model.get("asks"));
  const below = el("p", { class: "mhsa-hint" }, model.get("about"));
  const told = el("div", { class: "mhsa-told" }, guide.node, said.node);
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
    guide.draw(off);
    looked.say(
      ofHead(shown, off, word, bar, pointed.word),
      pointed.head >= 0 || pointed.word >= 0 ? 0 : 250,
    );
    said.say(ofCase(off, chances));
    // Once where a head comes into sight, not with every move of the mouse.
    if (flowing !== shown || from !== word) line.flowAlong(row);
    [flowing, from] = [shown, word];
  }

  // A finger does not leave what it has touched: the next touch is about something else.
  const touched = (/** @type {PointerEvent} */ { pointerType }) => {
    if (pointerType === "touch") pointed.word = -1;
  };
  body.addEventListener("pointerdown", touched, { signal, capture: true });
  /** Nothing below the two sentences moves, whatever they say. */
  function makeRoom() {
    const all = upTo(names.length);
    room[0].make(all.flatMap((k) => [[], [k]].map((off) => ofHead(k, off, last, -1, -1))));
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

export default { render };
