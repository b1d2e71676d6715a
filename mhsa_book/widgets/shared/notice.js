// @ts-check
// What is right or wrong with what the reader chose, and buttons that repair it.

import { button } from "./controls.js";
import { el } from "./elements.js";

/** A button's label and what it does. @typedef {[label: string, fix: () => void]} Fix */
/** @typedef {{ rule?: string, change?: string, error?: string, fixes?: Fix[] }} Said */
/**
 * Hears of a mistake in typing; of null when it is gone.
 * @typedef {(text: string | null, fixes?: Fix[]) => void} Wrong
 */

/**
 * A place that keeps its height: the rule that holds and what moved along with the last change, or
 * what is wrong and a button for each repair. `say` tells what the state of the figure deserves;
 * `wrong` lays a mistake in typing over it, and null takes it away.
 * @param {{ signal: AbortSignal, tall?: boolean }} about
 */
export function notice({ signal, tall = false }) {
  const [rule, change] = [el("p", { class: "mhsa-quiet" }), el("p", { "aria-live": "polite" })];
  const alert = el("p", { class: "mhsa-alert", role: "alert" });
  const repairs = el("div", { class: "mhsa-repairs", role: "group", "aria-label": "Repairs" });
  const about = { class: `mhsa-notice${tall ? " mhsa-tall" : ""}`, tabindex: -1 };
  const node = el("div", about, rule, alert, change, repairs);
  /** @type {Said} */
  let standing = {};

  /** @type {(line: HTMLElement, text?: string) => void} */
  const put = (line, text = "") => {
    if (line.textContent !== text) line.textContent = text;
  };
  /** @type {(fix: Fix) => HTMLElement} */
  const buttonOf = ([label, fix]) => {
    const press = () => {
      fix();
      const focused = document.activeElement;
      if (focused === document.body || node.contains(focused)) node.focus(); // the button is gone
    };
    return button({ label, signal, press });
  };
  /** @type {(now: Said) => void} */
  function show(now) {
    put(rule, now.rule);
    put(change, now.change);
    put(alert, now.error);
    repairs.hidden = !now.fixes?.length;
    repairs.replaceChildren(...(now.fixes ?? []).map(buttonOf));
  }
  /** @type {(now: Said) => void} */
  const say = (now) => {
    standing = now;
    show(now);
  };
  /** @type {Wrong} */
  const wrong = (text, fixes) => show(text === null ? standing : { error: text, fixes });
  return { node, say, wrong };
}

/** @typedef {ReturnType<typeof notice>} Notice */
