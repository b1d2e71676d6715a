// @ts-check
// A lane for each head: what it makes of every word, scores and weights of the one that asks.

import { svg } from "../shared/elements.js";
import { fixed, upTo } from "../shared/numbers.js";
import { most } from "./attended.js";
import { largest, MADE, strips, STRIPS, stripWidth } from "./strips.js";

/** @import { Head } from "./attended.js" */
/** @import { Seen } from "./question_and_answer.js" */

const [EDGE, SCORE, BAR, WEIGHT, ROOM] = [4, 13, 16, 13, 4];
const INSIDE = 3; // a letter on the edge of the figure would lie on its border
const HEIGHT = EDGE + STRIPS + SCORE + BAR + WEIGHT + ROOM;

/** A score in as few letters as it takes. @type {(score: number) => string} */
export const scoreText = (score) => fixed(score, 1).replace(".0", "");

/** Score, bar and weight of one word. */
function share() {
  const middle = { "text-anchor": "middle" };
  const score = svg("text", { ...middle, class: "mhsa-score", y: SCORE - 3 });
  const bar = svg("rect", { class: "mhsa-bar-up", x: -9, width: 18, y: SCORE, height: BAR });
  const weight = svg("text", { ...middle, class: "mhsa-weight-is", y: SCORE + BAR + WEIGHT - 2 });
  const base = svg("path", { class: "mhsa-base", d: `M-12 ${SCORE + BAR}h24` });
  const weighed = svg("g", { class: "mhsa-weighed" }, score, bar, weight);
  /** @type {(s: number, w: number) => void} */
  function draw(s, w) {
    score.textContent = scoreText(s);
    weight.textContent = fixed(w);
    weight.classList.toggle("mhsa-nothing", w < 0.005);
    bar.setAttribute("transform", `translate(0 ${(SCORE + BAR) * (1 - w)}) scale(1 ${w})`);
  }
  return { node: svg("g", { transform: `translate(0 ${STRIPS})` }, base, weighed), draw };
}

/** @param {number} h @param {Head[][]} all heads of all sentences */
function lane(h, all) {
  const { q } = all[0][h];
  const wide = stripWidth(q[0].length);
  const scale = MADE.map((wire) => largest(all.map((heads) => heads[h][wire])));
  const words = q.map(() => ({ strip: strips(q[0].length, scale), share: share() }));
  const groups = words.map((word) => svg("g", {}, word.strip.node, word.share.node));
  const letters = MADE.map((wire, r) => svg("text", { y: EDGE + 7 + 10 * r }, wire));
  const about = { class: `mhsa-lane mhsa-head-${h}`, height: HEIGHT, role: "img" };
  const node = svg("svg", about, svg("g", { class: "mhsa-letters" }, letters), groups);

  /** @type {(head: Head, w: number, at: number[], off: boolean, said: string) => void} */
  function draw(head, w, at, off, said) {
    const gap = Math.min(...at.slice(1).map((x, i) => x - at[i]));
    const narrow = Math.min(1, (gap - 4) / wide);
    words.forEach(({ strip, share: one }, i) => {
      groups[i].setAttribute("transform", `translate(${at[i]} ${EDGE})`);
      strip.node.setAttribute("transform", `scale(${narrow} 1)`);
      strip.draw(head, i, i === w);
      one.draw(head.scores[w][i], head.weights[w][i]);
    });
    // Between the words where there is room, or before the first.
    const room = at[1] - at[0] > wide + 14;
    const beside = room ? at[0] + wide / 2 + 4 : Math.max(INSIDE, at[0] - (wide * narrow) / 2 - 5);
    letters.forEach((letter) => letter.setAttribute("x", `${beside}`));
    node.classList.toggle("mhsa-off", off);
    node.setAttribute("aria-label", said);
  }
  return { node, draw };
}

/**
 * What a lane shows of the word that asks, in words.
 * @type {(seen: Seen, name: string, h: number, w: number) => string}
 */
export function laneSaid({ words, heads }, name, h, w) {
  const row = heads[h].weights[w];
  const best = most(row);
  return `${name}: “${words[w]}” gives ${fixed(row[best])} of its weights to “${words[best]}”`;
}

/** @param {string[]} names of the heads @param {Head[][]} all heads of all sentences */
export function lanes(names, all) {
  const each = upTo(names.length).map((h) => lane(h, all));
  /** @type {(seen: Seen, w: number, at: number[], off: number[]) => void} */
  function draw(seen, w, at, off) {
    each.forEach((one, h) =>
      one.draw(seen.heads[h], w, at, off.includes(h), laneSaid(seen, names[h], h, w)),
    );
  }
  return { nodes: each.map(({ node }) => node), draw };
}
