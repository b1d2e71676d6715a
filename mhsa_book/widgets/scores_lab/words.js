// @ts-check
// What the rules make of the row, in a sentence.

import { fixed } from "../shared/numbers.js";
import { quoted } from "../shared/tokens.js";
import { NAMES } from "./strips.js";

/** @import { Rule } from "./rules.js" */
/** @import { Told } from "./strips.js" */

/** @type {(rules: Rule[], told: Told[], token: string) => string} */
export function inWords(rules, told, token) {
  const sums = rules.map((rule, i) => `${NAMES[rule][0]} ${fixed(told[i].sum)}`).join(", ");
  const alone = rules.filter((_, i) => told[i].moved === "the same");
  const named = alone.map((rule) => NAMES[rule][0]).join(", ");
  const same = `Other keys weigh the same under: ${named}.`;
  return `Chosen key ${quoted(token)}. Sums: ${sums}.${told[0].moved ? ` ${same}` : ""}`;
}
