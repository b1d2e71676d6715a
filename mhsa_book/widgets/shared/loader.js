// @ts-check
// Mounts every live figure of a static page: joins its pieces of code into one module, and hands
// it its state through the same few methods that a kernel's model has.

(() => {
  /** What Python and the page share. @typedef {import("./traits.js").Model} Model */
  /**
   * What the pieces of a figure make together.
   * @typedef {{ default: { render: (place: import("./frame.js").Place) => unknown } }} Loaded
   */
  const page = /** @type {{ mhsaModules?: Map<string, Promise<Loaded>> }} */ (window);
  const modules = (page.mhsaModules ??= new Map());

  /** @type {(key: string) => string} */
  function piece(key) {
    const found = document.querySelector(`script[data-mhsa-piece="${key}"]`);
    if (found === null) throw new Error(`its piece ${key} is not on this page.`);
    return found.textContent;
  }

  /** @type {(keys: string) => Promise<Loaded>} */
  function load(keys) {
    const known = modules.get(keys);
    if (known) return known;
    const text = keys.split(" ").map(piece).join("\n");
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const module = import(url);
    modules.set(keys, module);
    return module;
  }

  /** @type {(state: Record<string, unknown>) => Model} */
  function plainModel(state) {
    /** @type {Record<string, Set<() => void>>} */
    const listeners = {};
    /** @type {(event: string) => Set<() => void>} */
    const of = (event) => (listeners[event] ??= new Set());
    return {
      get: (name) => state[name],
      set(name, value) {
        if (state[name] === value) return;
        state[name] = value;
        for (const listen of [...of(`change:${name}`)]) listen();
      },
      on: (event, listen) => of(event).add(listen),
      off: (event, listen) => of(event).delete(listen),
      save_changes() {},
    };
  }

  /**
   * What a page hears of a figure before it is drawn: it may change the state, and `restart` with
   * another one, as often as it likes.
   * @typedef {{ model: Model, state: Record<string, unknown>,
   *   restart: (state: Record<string, unknown>) => void }} Born
   */

  /** @type {(el: HTMLElement) => Promise<void>} */
  async function mount(el) {
    el.setAttribute("data-mhsa-mounting", "");
    try {
      const state = JSON.parse(
        el.querySelector('script[type="application/json"]')?.textContent ?? "",
      );
      const model = plainModel(state);
      const module = await load(el.dataset.mhsaFigure ?? "");
      let end = /** @type {unknown} */ (null);
      /** @type {Born["restart"]} */
      const restart = (other) => {
        if (typeof end === "function") end();
        Object.assign(state, other);
        end = module.default.render({ model, el });
      };
      const detail = { model, state, restart };
      el.dispatchEvent(new CustomEvent("mhsa-before-mount", { bubbles: true, detail }));
      restart({});
      el.setAttribute("data-mhsa-alive", "");
      el.dispatchEvent(new CustomEvent("mhsa-alive", { bubbles: true }));
    } catch (error) {
      el.append(`This figure could not start: ${error instanceof Error ? error.message : error}`);
      console.error(error);
    }
  }

  function mountAll() {
    const waiting = "[data-mhsa-figure]:not([data-mhsa-mounting])";
    for (const el of document.querySelectorAll(waiting)) mount(/** @type {HTMLElement} */ (el));
  }

  // Not DOMContentLoaded, which waits for every deferred script of the page.
  if (document.readyState === "loading") document.addEventListener("readystatechange", mountAll);
  else mountAll();
})();
