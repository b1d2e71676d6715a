// @ts-check
// What is right or wrong with what the reader chose, and buttons that repair it.

import { button } from "./controls.js";
import { el } from "./elements.js";

/** A button's label and what it does. @typedef {[label: string, repair: () => void]} Offer */
/** @typedef {{ law?: string, along?: string, wrong?: string, offers?: Offer[] }} Said */
/**
 * Hears of a mistake in typing; of null when it is gone.
 * @typedef {(text: string | null, offers?: Offer[]) => void} Wrong
 */

/**
 * A place that keeps its height: the rule that holds and what moved along with the last change, or
 * what is wrong and a button for each repair. `say` tells what the state of the figure deserves;
 * `wrong` lays a mistake in typing over it, and null takes it away.
 * @param {{ signal: AbortSignal, tall?: boolean }} about
 */
export function notice({ signal, tall = false }) {
  const [law, along] = [el("p", { class: "mhsa-quiet" }), el("p", { "aria-live": "polite" })];
  const alert = el("p", { class: "mhsa-alert", role: "alert" });
  const repairs = el("div", { class: "mhsa-repairs", role: "group", "aria-label": "Repairs" });
  const about = { class: `mhsa-notice${tall ? " mhsa-tall" : ""}`, tabindex: -1 };
  const node = el("div", about, law, alert, along, repairs);
  /** @type {Said} */
  let standing = {};

  /** @type {(line: HTMLElement, text?: string) => void} */
  const put = (line, text = "") => {
    if (line.textContent !== text) line.textContent = text;
  };
  /** @type {(offer: Offer) => HTMLElement} */
  const offered = ([label, repair]) => {
    const press = () => {
      repair();
      const focused = document.activeElement;
      if (focused === document.body || node.contains(focused)) node.focus(); // the button is gone
    };
    return button({ label, signal, press });
  };
  /** @type {(now: Said) => void} */
  function show(now) {
    put(law, now.law);
    put(along, now.along);
    put(alert, now.wrong);
    repairs.hidden = !now.offers?.length;
    repairs.replaceChildren(...(now.offers ?? []).map(offered));
  }
  /** @type {(now: Said) => void} */
  const say = (now) => {
    standing = now;
    show(now);
  };
  /** @type {Wrong} */
  const wrong = (text, offers) => show(text === null ? standing : { wrong: text, offers });
  return { node, say, wrong };
}

/** @typedef {ReturnType<typeof notice>} Notice */
