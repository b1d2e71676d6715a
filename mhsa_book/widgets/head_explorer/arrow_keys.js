// @ts-check
// Arrow keys through the cells of a large map.

/**
 * Where each key leads, in rows and columns.
 * @type {Record<string, [down: number, across: number]>}
 */
const KEYS = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
  PageUp: [-Infinity, 0],
  PageDown: [Infinity, 0],
};

/**
 * @type {(grid: HTMLElement, signal: AbortSignal, move: (down: number, across: number) => void) =>
 *   void}
 */
export function arrowKeys(grid, signal, move) {
  /** @type {(event: KeyboardEvent) => void} */
  const keyed = (event) => {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    move(...KEYS[event.key]);
  };
  grid.addEventListener("keydown", keyed, { signal });
}
