// @ts-check
// A button that loads an asset: how much that is, how far it has come, and what to do where it is
// not there.

import { loadAsset, pause, sized, weight } from "./assets.js";
import { button } from "./controls.js";
import { el } from "./elements.js";

/** @import { Asset } from "./assets.js" */
/** @import { Model } from "./traits.js" */

const REPAIR =
  " It lies in the built book: open the page there, after “make book”; "
  + "or run the cell where Python runs.";

/**
 * `what` is the asset in the reader's words, "the model"; `ready` hears its bytes, once.
 * @param {{ asset: Asset, what: string, model: Model, signal: AbortSignal,
 *   ready: (data: Uint8Array<ArrayBuffer>) => void }} about
 */
export function loadButton({ asset, what, model, signal, ready }) {
  const [said, missing] = [el("p", { role: "status" }), el("div")];
  const bar = el("progress", { max: asset.parts, value: 0, "aria-label": `Loading ${what}` });
  const label = `Load ${what} (${sized(weight(asset, model))})`;
  const start = button({ label, signal, press });
  let loading = new AbortController();
  const cancel = button({ label: "Cancel", signal, press: () => loading.abort() });
  const about = { class: "mhsa-loading", tabindex: -1 };
  const node = el("div", about, start, bar, cancel, said, missing);
  [bar.hidden, cancel.hidden] = [true, true];

  /** @type {(parts: number) => void} */
  function progress(parts) {
    bar.value = parts;
    const size = weight(asset, model);
    const count =
      asset.parts > 1 ? `: ${sized((size * parts) / asset.parts)} of ${sized(size)}` : "";
    const asked = model.send ? ", which Python sends when it is free" : "";
    said.textContent = `Loading ${what}${count}${asked}.`;
  }
  async function press() {
    loading = new AbortController();
    const either = AbortSignal.any([signal, loading.signal]);
    [start.disabled, bar.hidden, cancel.hidden] = [true, false, false];
    missing.replaceChildren();
    try {
      const data = await loadAsset(asset, model, either, progress);
      await pause();
      if (signal.aborted) return;
      const focused =
        node.contains(document.activeElement) || document.activeElement === document.body;
      start.remove();
      said.textContent = `Loaded: ${what}.`;
      ready(data);
      if (focused) node.focus({ preventScroll: true }); // the button is gone
    } catch (error) {
      said.textContent = "";
      start.disabled = false;
      if (!loading.signal.aborted) complain(error);
    }
    [bar.hidden, cancel.hidden] = [true, true];
  }
  /** @type {(error: unknown) => void} */
  function complain(error) {
    const told =
      error instanceof RangeError
        ? `This device has too little free memory for ${what}.`
        : `${/** @type {Error} */ (error).message}${REPAIR}`;
    missing.append(el("p", { class: "mhsa-alert", role: "alert" }, told));
  }
  return node;
}
