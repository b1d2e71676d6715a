// @ts-check
// One attention layer on several ranks: who holds what, what is copied, and what is sent.

import { button, choice } from "../shared/controls.js";
import { dial } from "../shared/dial.js";
import { el, scroller } from "../shared/elements.js";
import { drawToFit, frame } from "../shared/frame.js";
import { notice } from "../shared/notice.js";
import { spoken } from "../shared/spoken.js";
import { nearest } from "../shared/stops.js";
import { readAll, watch, writeAll } from "../shared/traits.js";
import { rowsOfRanks } from "./rank_rows.js";
import { ranksIn, ranksPicture } from "./ranks_picture.js";
import { bytesTable, leftOut, ranksInWords } from "./ranks_words.js";
import { CUTS, EXCHANGED, KEYS, layerOf, MOST_RANKS, possibleRanks, refusedOf } from "./shares.js";

/** @import { Choice } from "../shared/controls.js" */
/** @import { Place } from "../shared/frame.js" */
/** @import { Fix } from "../shared/notice.js" */
/** @import { Layer } from "./shares.js" */
/** @typedef {{ model: string, kind: string, cut: string, ranks: number }} Chosen */

const RANK_TRAITS = ["model", "kind", "cut", "ranks"];

/** @param {Place} place */
function render({ model: traits, el: root }) {
  const { body, signal, end } = frame(root, "ranks-lab");
  const models = /** @type {(Layer & { name: string })[]} */ (traits.get("models"));
  const [names, start] = [models.map(({ name }) => name), readAll(traits, RANK_TRAITS)];
  const read = () => /** @type {Chosen} */ (readAll(traits, RANK_TRAITS));
  /** @type {(chosen: Chosen) => Layer} */
  const layer = ({ model, kind }) => layerOf(models[Math.max(0, names.indexOf(model))], kind);
  const place = notice({ signal });
  let moved = "";

  /** @type {(changes: Record<string, unknown>, words?: string) => void} */
  function put(changes, words = "") {
    moved = words; // said until the next change
    writeAll(traits, changes);
  }
  /** Ranks move along to the nearest number that can share evenly. @type {(one: object) => void} */
  function change(one) {
    const wish = { ...read(), ...one };
    const fits = possibleRanks(layer(wish), wish.cut);
    const ranks = fits.includes(wish.ranks) ? wish.ranks : nearest(fits, wish.ranks);
    const why = refusedOf(layer(wish), wish.cut, wish.ranks);
    put({ ...one, ranks }, ranks === wish.ranks ? "" : `ranks ${wish.ranks} → ${ranks}: ${why}`);
  }
  /** @type {(label: string, trait: "model" | "kind" | "cut", options: string[]) => Choice} */
  const pick = (label, trait, options) =>
    choice({
      label,
      options,
      value: options.indexOf(read()[trait]),
      signal,
      change: (i) => change({ [trait]: options[i] }),
    });
  const choices = {
    model: pick("model", "model", names),
    kind: pick("keys", "kind", KEYS),
    cut: pick("cut by", "cut", CUTS),
  };
  /** @type {(ranks: number) => void} */
  const setRanks = (ranks) => put({ ranks });
  const dialOfRanks = dial({
    label: "ranks",
    unit: "rank",
    max: MOST_RANKS,
    value: read().ranks,
    signal,
    change: setRanks,
    wrong: place.wrong,
  });
  const reset = button({ label: "Reset", signal, press: () => put(start) });
  const drawn = scroller("Ranks");
  const [more, numbers, said] = [
    el("p", { class: "mhsa-quiet mhsa-left-out" }),
    scroller("Bytes"),
    spoken(),
  ];
  const own = el("span", {}, el("span", { class: "mhsa-sample mhsa-own" }), "held by this rank");
  const copy = el(
    "span",
    {},
    el("span", { class: "mhsa-sample mhsa-copy" }),
    "a copy of what a rank before it holds",
  );
  body.append(
    el(
      "div",
      { class: "mhsa-controls" },
      Object.values(choices).map(({ node }) => node),
      dialOfRanks.node,
      reset,
    ),
    place.node,
    drawn,
    el("p", { class: "mhsa-legend" }, own, copy),
    more,
    said.node,
    numbers,
  );

  /** @type {(chosen: Chosen, wrong: string) => void} */
  function refuse(chosen, wrong) {
    const fits = possibleRanks(layer(chosen), chosen.cut);
    const near = [
      fits.filter((n) => n < chosen.ranks).pop(),
      fits.find((n) => n > chosen.ranks),
    ].filter((n) => n !== undefined);
    const latent = chosen.cut === EXCHANGED && chosen.kind === "latent";
    /** @type {Fix[]} */
    const fixes = latent
      ? [
          ["cut by heads", () => change({ cut: CUTS[0] })],
          ["keys = grouped", () => change({ kind: KEYS[1] })],
        ]
      : near.map((n) => [`ranks = ${n}`, () => setRanks(n)]);
    place.say({ error: wrong, fixes });
  }

  function draw() {
    const chosen = read();
    const { cut, ranks } = chosen;
    const [sizes, fits] = [layer(chosen), possibleRanks(layer(chosen), cut)];
    choices.model.show(names.indexOf(chosen.model));
    choices.kind.show(KEYS.indexOf(chosen.kind));
    choices.cut.show(CUTS.indexOf(cut));
    choices.kind.select.options[2].disabled = cut === EXCHANGED;
    choices.cut.select.options[1].disabled = chosen.kind === "latent";
    dialOfRanks.show(ranks, fits);
    const wrong = refusedOf(sizes, cut, ranks);
    if (wrong) return refuse(chosen, wrong);
    place.say({ rule: `ranks that can share evenly: ${fits.join(", ")}`, change: moved });
    const words = ranksInWords(sizes, cut, ranks);
    const room = drawn.clientWidth || 700;
    const shown = ranksIn(ranks, room);
    drawn.replaceChildren(ranksPicture(rowsOfRanks(sizes, cut, ranks), shown, room, words));
    more.textContent = leftOut(shown, ranks);
    numbers.replaceChildren(bytesTable(sizes, cut, ranks));
    return said.say(words);
  }

  watch(traits, RANK_TRAITS, draw, signal);
  drawToFit(drawn, draw, signal);
  return end;
}

export default { render };
