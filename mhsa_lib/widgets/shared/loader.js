// Mounts every live figure of a static page: joins its pieces of code into one module, and hands
// it its state through the same few methods that a kernel's model has.
(() => {
  const modules = (window.mhsaModules ??= new Map());

  function load(keys) {
    if (!modules.has(keys)) {
      const find = (key) => document.querySelector(`script[data-mhsa-piece="${key}"]`).textContent;
      const text = keys.split(" ").map(find).join("\n");
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      modules.set(keys, import(url));
    }
    return modules.get(keys);
  }

  function plainModel(state) {
    const listeners = new Map();
    const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
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

  async function mount(el) {
    el.setAttribute("data-mhsa-mounting", "");
    try {
      const state = JSON.parse(el.querySelector('script[type="application/json"]').textContent);
      const module = await load(el.dataset.mhsaFigure);
      await module.default.render({ model: plainModel(state), el });
      el.setAttribute("data-mhsa-alive", "");
    } catch (error) {
      el.append(`This figure could not start: ${error.message}`);
      console.error(error);
    }
  }

  function mountAll() {
    document.querySelectorAll("[data-mhsa-figure]:not([data-mhsa-mounting])").forEach(mount);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mountAll);
  else mountAll();
})();
