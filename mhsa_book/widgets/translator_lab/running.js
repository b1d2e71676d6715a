// @ts-check
// The model at work: what it writes with the heads that are off, beside what is right.

import { unpack } from "../shared/halves.js";
import { softmaxRow } from "../shared/tensor.js";
import { compared } from "./compare.js";
import { BOS, EOS, translate } from "./model.js";
import { read, translated, wordsOf } from "./rules.js";

/** @import { Matrices } from "../shared/halves.js" */
/** @import { Model } from "../shared/traits.js" */
/** @import { Step } from "./compare.js" */
/** @import { Instead, Written } from "./model.js" */
/** @import { Tables, Word } from "./rules.js" */
/**
 * What is shown: the words of the source, those that were said and the right ones, both with their
 * end, the steps that compare them, the probability of each word, all weights by a head's name,
 * and the word that asks. Before the model is there nothing was said.
 * @typedef {{ source: string[], said: string[], right: Word[], steps: Step[], chances: number[],
 *   weights: Record<string, number[][]>, word: number, head: string, off: string[],
 *   instead: string, signs: { begin: string, end: string } }} Shown
 */

/**
 * The greeting that a word begins, or else the first.
 * @type {(word: string, tables: Tables) => string}
 */
export function greetingOf(word, { greetings }) {
  const all = Object.keys(greetings);
  return all.find((greeting) => greeting.split(" ")[0] === word) ?? all[0];
}

/** @param {Model} model */
export function running(model) {
  const tables = /** @type {Tables} */ (model.get("tables"));
  const [sources, targets] = [model.get("source"), model.get("target")];
  const means = /** @type {Record<string, number[]>} */ (model.get("means"));
  const signs = { begin: targets[BOS], end: targets[EOS] };
  let matrices = /** @type {Matrices | null} */ (null);
  let last = { asked: "", written: /** @type {Written | null} */ (null) };

  /**
   * @type {(source: string[], greeting: string, off: string[], instead: string) =>
   *   Written | null}
   */
  function write(source, greeting, off, instead) {
    const asked = [source, greeting, off, instead].join("|");
    if (matrices === null || asked === last.asked) return last.written;
    /** @type {Instead} */
    const heads = {};
    for (const name of off)
      heads[name] = instead === "mean" ? means[name] : means[name].map(() => 0);
    const [ids, given] = [source, greeting.split(" ").filter(Boolean)];
    const written = translate(
      matrices,
      ids.map((word) => sources.indexOf(word)),
      given.map((word) => targets.indexOf(word)),
      heads,
    );
    last = { asked, written };
    return written;
  }

  /** @type {() => Shown} */
  function now() {
    const [greeting, off, instead, word] = ["greeting", "off", "instead", "word"].map((name) =>
      model.get(name),
    );
    const { sentence } = read(model.get("sentence"), tables);
    if (!sentence) throw new Error(`“${model.get("sentence")}” is no sentence.`);
    const source = wordsOf(sentence);
    const written = write(source, greeting, off, instead);
    const said = (written?.ids ?? []).map((id) => targets[id]);
    const begun = greeting || greetingOf(said[0], tables);
    const right = [...translated(sentence, begun, tables), { text: signs.end, aligned: [] }];
    const steps = compared(
      said,
      right.map(({ text }) => text),
    );
    const wrong = steps.find((step) => step.wrong && step.said !== null)?.said;
    const chances = (written?.logits ?? []).map(
      (logits, i) => softmaxRow([...logits])[written?.ids[i] ?? 0],
    );
    return {
      source,
      said,
      right,
      steps,
      chances,
      weights: written?.weights ?? {},
      word: Math.min(word ?? wrong ?? said.length - 2, said.length - 1),
      head: model.get("head"),
      off,
      instead,
      signs,
    };
  }

  return {
    now,
    /** @type {(data: Uint8Array) => void} */
    start(data) {
      matrices = unpack(data, model.get("tensors"));
    },
    loaded: () => matrices !== null,
  };
}

/**
 * What a head's rows and columns are.
 * @type {(shown: Shown) => { rows: string[], columns: string[] }}
 */
export function sides({ head, source, said, right, signs }) {
  const words = said.length ? said : right.map(({ text }) => text);
  if (head.startsWith("encoder")) return { rows: source, columns: source };
  if (head.startsWith("cross")) return { rows: words, columns: source };
  return { rows: words, columns: [signs.begin, ...words.slice(0, -1)] };
}

/**
 * For each word that was said, the source words that the right word in its place translates.
 * @type {(shown: Shown) => number[][]}
 */
export function alignedOf({ said, right, steps }) {
  if (!said.length) return right.map(({ aligned }) => aligned);
  const all = said.map(() => /** @type {number[]} */ ([]));
  for (const step of steps) {
    if (step.said !== null && step.right !== null) all[step.said] = right[step.right].aligned;
  }
  return all;
}
