"""A figure mounted once more on a model that a test can set, as a kernel would set it."""

from playwright.sync_api import Page

from mhsa_book.widgets.figure import Figure

MOUNT = """async (state) => {
  const listeners = {};
  const of = (event) => (listeners[event] ??= new Set());
  window.model = {
    get: (name) => state[name],
    on: (event, listen) => of(event).add(listen),
    off: (event, listen) => of(event).delete(listen),
    set(name, value) {
      state[name] = value;
      of(`change:${name}`).forEach((listen) => listen());
    },
    save_changes() { window.saved += 1; },
  };
  window.saved = 0;
  window.listening = () => Object.values(listeners).reduce((sum, set) => sum + set.size, 0);
  const [loading] = window.mhsaModules.values();
  const el = document.querySelector("[data-mhsa-figure]");
  el.querySelector(".mhsa-body").remove();
  window.end = await (await loading).default.render({ model, el });
}"""


def mount_again(page: Page, figure: Figure) -> None:
    """In the page, ``model.set(name, value)`` then redraws and ``end()`` takes the figure away.

    ``saved`` counts what the figure wrote back, ``listening()`` who listens to the model.
    """
    page.evaluate(MOUNT, figure.state())
