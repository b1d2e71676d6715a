// @ts-check
// The field for the text, and what is wrong with what stands there.

import { el, uid } from "../shared/elements.js";
import { notice } from "../shared/notice.js";
import { writeAll } from "../shared/traits.js";
import { encoded, readable } from "./texts.js";

/** @import { Model } from "../shared/traits.js" */
/** @import { Fix } from "../shared/notice.js" */

/**
 * `set` takes a text, `show` puts the model's there; `reread` hears when a repair gave back the
 * text that was there.
 * @param {Model} model @param {number} maxTokens @param {() => void} reread
 * @param {AbortSignal} signal
 */
export function textField(model, maxTokens, reread, signal) {
  const alphabet = model.get("alphabet");
  const quiet = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
  const typed = el("input", { type: "text", id: uid(), ...quiet });
  const place = notice({ signal });
  /** @type {(text: string) => void} */
  function set(text) {
    const { problem } = encoded(text, alphabet, maxTokens);
    typed.setAttribute("aria-invalid", `${problem !== undefined}`);
    if (problem !== undefined) {
      return place.wrong(`${problem[0].toUpperCase()}${problem.slice(1)}`, [repair(text)]);
    }
    place.wrong(null);
    return writeAll(model, { position: null, text });
  }
  /** @type {(text: string) => Fix} */
  function repair(text) {
    const near = readable(text, alphabet, maxTokens) ?? model.get("text");
    const press = () => {
      set(near);
      reread();
    };
    return [`text = “${near.length > 20 ? `${near.slice(0, 19)}…` : near}”`, press];
  }
  typed.addEventListener("input", () => set(typed.value), { signal });
  /** What stands there is what the model reads. */
  function show() {
    if (typed.value !== model.get("text")) typed.value = model.get("text");
    typed.setAttribute("aria-invalid", "false");
    place.say({});
  }
  return { typed, label: el("label", { for: typed.id }, "Text"), notice: place.node, set, show };
}
