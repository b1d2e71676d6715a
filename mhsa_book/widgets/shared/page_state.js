// @ts-check
// A model of values that stay in the page: what a reader types is told to nobody.

/** @import { Model } from "./traits.js" */

/**
 * What the reader changes is kept here, beside `first` values that only the page has. What Python
 * changes is heard, and stands until the reader changes it again.
 * @type {(model: Model, first: Record<string, unknown>) => Model}
 */
export function pageState(model, first) {
  const own = new Map(Object.entries(first));
  /** @type {Record<string, Map<() => void, () => void>>} */
  const listeners = {};
  const of = (/** @type {string} */ event) => (listeners[event] ??= new Map());
  return {
    get: (name) => (own.has(name) ? own.get(name) : model.get(name)),
    set(name, value) {
      own.set(name, value);
      for (const listen of [...of(`change:${name}`).keys()]) listen();
    },
    on(event, listen) {
      const heard = () => {
        own.delete(event.replace("change:", ""));
        listen();
      };
      of(event).set(listen, heard);
      model.on(event, heard);
    },
    off(event, listen) {
      model.off(event, of(event).get(listen) ?? listen);
      of(event).delete(listen);
    },
    save_changes() {},
  };
}
