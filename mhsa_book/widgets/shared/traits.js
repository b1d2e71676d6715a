// @ts-check
// Values that Python and the page share: listening to them and changing them.

/**
 * Anywidget's model where a kernel is, which sends questions too; the loader's elsewhere.
 * @typedef {{
 *   get: (name: string) => any,
 *   set: (name: string, value: unknown) => void,
 *   on: (event: string, listen: (...said: any[]) => void) => void,
 *   off: (event: string, listen: (...said: any[]) => void) => void,
 *   save_changes: () => void,
 *   send?: (question: unknown) => void,
 * }} Model
 */

/** Functions that wait until all of a change is written. @type {WeakMap<Model, Set<() => void>>} */
const held = new WeakMap();

/**
 * Call `draw` when one of the named values changes, wherever the change comes from.
 * @type {(model: Model, names: string[], draw: () => void, signal: AbortSignal) => void}
 */
export function watch(model, names, draw, signal) {
  for (const name of names) {
    const listen = () => {
      const waiting = held.get(model);
      if (waiting) waiting.add(draw);
      else draw();
    };
    model.on(`change:${name}`, listen);
    signal.addEventListener("abort", () => model.off(`change:${name}`, listen));
  }
}

/**
 * Change values here and, where a kernel is, in Python; what lies between them is never drawn.
 * @type {(model: Model, values: Record<string, unknown>) => void}
 */
export function writeAll(model, values) {
  const draws = /** @type {Set<() => void>} */ (new Set());
  held.set(model, draws);
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  held.delete(model);
  model.save_changes();
  for (const draw of draws) draw();
}

/** @type {(model: Model, name: string, value: unknown) => void} */
export const write = (model, name, value) => writeAll(model, { [name]: value });

/** Several values by name. @type {(model: Model, names: string[]) => Record<string, any>} */
export const readAll = (model, names) =>
  Object.fromEntries(names.map((name) => [name, model.get(name)]));
