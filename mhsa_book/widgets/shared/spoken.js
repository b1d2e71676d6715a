// @ts-check
// What a figure says about itself, to those who look and those who listen.

import { el } from "./elements.js";

/** A line that a screen reader speaks when it changes, once the reader pauses. */
export function spoken() {
  const node = el("p", { class: "mhsa-said", role: "status" });
  let timer = 0;
  /** @type {(text: string, wait?: number) => void} */
  const say = (text, wait = 250) => {
    clearTimeout(timer);
    const now = () => {
      node.textContent = text;
    };
    if (node.textContent === text) return;
    if (node.textContent === "" || wait === 0) now();
    else timer = setTimeout(now, wait);
  };
  /** Let it be read but not spoken. @type {(on: boolean) => void} */
  const hush = (on) => node.setAttribute("aria-live", on ? "off" : "polite");
  return { node, say, hush };
}
