// @ts-check
// Arrow keys through a grid that is one stop of the Tab key.

/**
 * Where a key leads from cell `i`.
 * @type {(key: string, i: number, columns: number) => number | undefined}
 */
function destination(key, i, columns) {
  const column = i % columns;
  switch (key) {
    case "ArrowRight":
      return column < columns - 1 ? i + 1 : i;
    case "ArrowLeft":
      return column > 0 ? i - 1 : i;
    case "ArrowDown":
      return i + columns;
    case "ArrowUp":
      return i - columns;
    case "Home":
      return i - column;
    case "End":
      return i - column + columns - 1;
    default:
      return undefined;
  }
}

/**
 * Arrow keys, Home and End move between the `cells` of a grid; one of them is in the tab order.
 * The function returned puts another one there.
 * @param {(HTMLElement | SVGElement)[]} cells
 * @param {number} columns
 * @param {AbortSignal} signal
 * @param {(i: number) => void} enter
 */
export function rove(cells, columns, signal, enter = () => {}) {
  let at = 0;
  /** @type {(i: number) => void} */
  const settle = (i) => {
    cells[at].setAttribute("tabindex", "-1");
    at = i;
    cells[i].setAttribute("tabindex", "0");
  };
  /** @type {(event: Event, i: number) => void} */
  const move = (event, i) => {
    const next = destination(/** @type {KeyboardEvent} */ (event).key, i, columns);
    if (next === undefined || !cells[next]) return;
    event.preventDefault();
    cells[next].focus();
  };
  cells.forEach((cell, i) => {
    const focused = () => {
      settle(i);
      enter(i);
    };
    cell.setAttribute("tabindex", i === 0 ? "0" : "-1");
    cell.addEventListener("focus", focused, { signal });
    cell.addEventListener("keydown", (event) => move(event, i), { signal });
  });
  return settle;
}
