// @ts-check
// The text, token by token: each with the model's guess for the next, on the weight that it gets.

import { onWeight } from "../shared/colours.js";
import { el } from "../shared/elements.js";
import { clamp, fixed } from "../shared/numbers.js";
import { largest } from "./model.js";
import { tokenName, tokenSign } from "./texts.js";

/** @import { Shown } from "./guesses.js" */

/** A button for one token. */
function tokenButton() {
  const [token, guessed, chance] = ["token", "guess", "chance"].map((part) =>
    el("span", { class: `mhsa-${part}`, "aria-hidden": "true" }),
  );
  const name = el("span", { class: "mhsa-hidden" });
  const node = el("button", { type: "button" }, token, guessed, chance, name);
  return { node, token, guessed, chance, name };
}

/**
 * Whether a guess came true.
 * @type {(guess: number, follows?: number) => [mark: string, word: string]}
 */
function judged(guess, follows) {
  if (follows === undefined) return ["?", ""];
  return follows === guess ? ["✓", ", right"] : ["✗", ", wrong"];
}

/**
 * A strip of tokens; `choose` hears the position of the one that is pressed.
 * @param {(position: number) => void} choose
 * @param {AbortSignal} signal
 */
export function tokenStrip(choose, signal) {
  const about = { class: "mhsa-tokens", role: "group" };
  const node = el("div", { ...about, "aria-label": "Tokens; arrow keys choose one" });
  const cells = /** @type {ReturnType<typeof tokenButton>[]} */ ([]);
  /** @type {(position: number) => void} */
  function go(position) {
    choose(position);
    cells[position].node.focus();
  }
  /** @type {(event: Event) => number} */
  const at = ({ target }) =>
    cells.findIndex((cell) => cell.node.contains(/** @type {Node} */ (target)));
  /** @type {(event: KeyboardEvent) => void} */
  function keyed(event) {
    const last = cells.length - 1;
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    /** @type {Record<string, number>} */
    const ends = { Home: 0, End: last };
    const step = steps[event.key];
    const to = step === undefined ? ends[event.key] : at(event) + step;
    if (to === undefined) return;
    event.preventDefault();
    go(clamp(to, 0, last));
  }
  const clicked = (/** @type {Event} */ event) => {
    if (at(event) >= 0) go(at(event));
  };
  node.addEventListener("click", clicked, { signal });
  node.addEventListener("keydown", keyed, { signal });

  /** @type {(n: number) => void} */
  function resize(n) {
    while (cells.length < n) {
      const cell = tokenButton();
      cells.push(cell);
      node.append(cell.node);
    }
    while (cells.length > n) cells.pop()?.node.remove();
  }
  /** @type {(shown: Shown) => void} */
  function draw({ alphabet, ids, now, looks, position }) {
    resize(ids.length);
    ids.forEach((id, i) => {
      const { node, token, guessed, chance, name } = cells[i];
      const [guess] = largest(now[i], 1);
      const [mark, word] = judged(guess, ids[i + 1]);
      token.textContent = tokenSign(alphabet, id);
      token.style.cssText = onWeight(looks[i]);
      guessed.textContent = `${tokenSign(alphabet, guess)}\u200a${mark}`;
      guessed.classList.toggle("mhsa-hit", mark === "✓");
      chance.textContent = fixed(now[i][guess]);
      const [here, next] = [tokenName(alphabet, id), tokenName(alphabet, guess)];
      name.textContent = `${i}: ${here}; next ${next} ${chance.textContent}${word}`;
      node.setAttribute("aria-pressed", `${i === position}`);
      node.tabIndex = i === position ? 0 : -1;
    });
  }
  return { node, draw };
}
