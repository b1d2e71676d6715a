// @ts-check
// What a reader points at, and how something new comes into its place.

/** @type {() => boolean} */
export const isMoving = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

/** What is new comes down into its place. @type {(node: HTMLElement) => void} */
export function arrive(node) {
  if (!isMoving() || !node.isConnected) return;
  const from = { transform: "translateY(-0.5em)", opacity: 0 };
  node.animate([from, { transform: "none", opacity: 1 }], { duration: 350, easing: "ease-out" });
}

/**
 * A mouse comes and goes, and so does the focus of the keyboard; a finger presses.
 * @type {(node: Element, hear: (here: boolean) => void, signal: AbortSignal) => void}
 */
export function hearPointer(node, hear, signal) {
  for (const [name, here] of /** @type {[string, boolean][]} */ ([
    ["pointerenter", true],
    ["pointerleave", false],
  ])) {
    const listen = (/** @type {Event} */ event) => {
      if (/** @type {PointerEvent} */ (event).pointerType !== "touch") hear(here);
    };
    node.addEventListener(name, listen, { signal });
  }
}
