// @ts-check
// The field in which a reader types another number, and what is wrong with it.

import { el, uid } from "../shared/elements.js";
import { notice } from "../shared/notice.js";
import { clamp } from "../shared/numbers.js";
import { placeName } from "../shared/places.js";

/** @import { At } from "../shared/places.js" */

const LARGEST = 100;

/** A minus sign and a decimal comma as a program reads them. @type {(text: string) => string} */
const plainNumber = (text) => text.trim().replace("−", "-").replace(",", ".");

/**
 * A typed number as `{ value }`, or `{ wrong }`: the reason it is refused.
 * @type {(text: string, largest: number) => { value?: number, wrong?: string }}
 */
export function typedNumber(text, largest) {
  const plain = plainNumber(text);
  const range = `Type a number from −${largest} to ${largest}.`;
  if (plain === "") return { wrong: `The field is empty. ${range}` };
  const value = /^[-+]?(inf(inity)?|∞)$/i.test(plain) ? Infinity : Number(plain);
  /** @type {(words: string) => string} */
  const start = (words) => [...words].slice(0, 20).join("");
  if (Number.isNaN(value)) return { wrong: `“${start(text.trim())}” is not a number. ${range}` };
  if (!Number.isFinite(value)) {
    return { wrong: `An infinite number makes NaN in the next product. ${range}` };
  }
  if (Math.abs(value) > largest) {
    return { wrong: `${start(plain)} is too large to follow by hand. ${range}` };
  }
  return { value };
}

/**
 * The field for one number: `show` opens it for a place or closes it (null), `edit` goes there.
 * `put` takes what is typed, `leave` is called when the reader has finished.
 * @param {{ signal: AbortSignal, place: () => At, stands: () => number,
 *   put: (at: At, value: number) => void, leave: (at: At) => void }} about
 */
export function typing({ signal, place, stands, put, leave }) {
  const id = uid();
  // The keypad of numbers has no minus sign on every phone.
  const about = { type: "text", id, inputmode: "text", autocomplete: "off" };
  const [label, typed] = [el("label", { for: id }, "no number chosen"), el("input", about)];
  const field = el("span", { class: "mhsa-field" }, label, typed);
  const mistake = notice({ signal });

  /**
   * The nearest number that is taken, or the one that stands there.
   * @type {() => [string, () => void]}
   */
  function repair() {
    const at = place();
    const wished = typed.value.trim() === "" ? NaN : Number(plainNumber(typed.value));
    const near = Number.isFinite(wished) ? clamp(wished, -LARGEST, LARGEST) : stands();
    const press = () => {
      put(at, near);
      leave(at);
    };
    return [`${placeName(at)} = ${`${near}`.replace("-", "−")}`, press];
  }
  function confirm() {
    const { value, wrong } = typedNumber(typed.value, LARGEST);
    typed.setAttribute("aria-invalid", `${value === undefined}`);
    if (value === undefined) return mistake.wrong(wrong ?? "", [repair()]);
    mistake.wrong(null);
    return put(place(), value);
  }
  /** @type {(event: KeyboardEvent) => void} */
  function keyed({ key }) {
    if (key === "Escape") typed.value = `${stands()}`;
    else if (key !== "Enter" || typedNumber(typed.value, LARGEST).wrong) return;
    leave(place());
  }
  typed.addEventListener("change", confirm, { signal });
  typed.addEventListener("keydown", keyed, { signal });

  /** @type {(at: At | null) => void} */
  function show(at) {
    field.classList.toggle("mhsa-closed", at === null);
    typed.disabled = at === null;
    if (at === null) mistake.say({});
    if (at === null || document.activeElement === typed) return;
    label.textContent = `${placeName(at)} =`;
    typed.value = `${stands()}`;
    typed.setAttribute("aria-invalid", "false");
    mistake.say({});
  }
  const edit = () => {
    typed.focus();
    typed.select();
  };
  return { field, notice: mistake.node, show, edit };
}
