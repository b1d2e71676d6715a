"""What a kernel sets is redrawn, and what a reader changes is sent to it."""

import base64

from playwright.sync_api import expect

from mhsa_book.widgets.packed import packed, unpacked
from tests.mhsa_book.widgets.head_explorer.random_heads import explorer

OTHER_MODEL = """async () => {
  const module = await [...window.mhsaModules.values()][0];
  const given = document.querySelector("[data-mhsa-figure] > script").textContent;
  const state = JSON.parse(given);
  const listeners = [];
  const el = document.createElement("div");
  el.id = "other";
  document.querySelector("main").append(el);
  window.saved = [];
  window.set = (name, value) => {
    state[name] = value;
    listeners.filter((one) => one[0] === `change:${name}`).forEach((one) => one[1]());
  };
  window.end = module.default.render({ el, model: {
    get: (name) => state[name],
    set: (name, value) => { window.saved.push([name, value]); window.set(name, value); },
    on: (event, listen) => listeners.push([event, listen]),
    off: (_, listen) => listeners.splice(listeners.findIndex((one) => one[1] === listen), 1),
    save_changes: () => window.saved.push("save"),
  } });
  window.listeners = listeners;
}"""


def test_a_trait_set_elsewhere_redraws_and_a_change_here_is_sent(open_figure):
    figure = explorer(query=1, key=2)
    w = unpacked(figure.attention)
    page = open_figure(figure)
    page.evaluate(OTHER_MODEL)
    other = page.locator("#other")
    expect(other.get_by_label("text", exact=True)).to_be_hidden()
    for name, value, shows in (
        ("layer", 2, "L2H0"), ("head", 3, "L2H3"), ("query", 4, f"{w[2, 3, 4, 2]:.4f}"),
        ("key", 5, f"{w[2, 3, 4, 5]:.4f}"), ("compared", [1, 1], "L2H3 − L1H1"),
        ("direction", "key to query", "Who looks at"), ("sort", "own", "L2H3 0."),
        ("text", "I saw", "text"), ("problem", "No <b>words</b>.", "No <b>words</b>."),
    ):  # fmt: skip
        page.evaluate("([name, value]) => window.set(name, value)", [name, value])
        expect(other).to_contain_text(shows)
    expect(other.get_by_label("text", exact=True)).to_have_value("I saw")
    page.evaluate("window.set('hidden', ['[CLS]'])")
    expect(other.get_by_label("hide [CLS]")).to_be_checked()
    page.evaluate("window.set('renormalise', false)")
    expect(other.get_by_label("divide what is left")).not_to_be_checked()
    page.evaluate("window.set('view', 'lines')")
    expect(other.locator(".mhsa-strand").first).to_be_attached()
    fewer = packed(w[:, :, :2, :2], ["a", "b"])
    fewer["weights"] = base64.b64encode(fewer["weights"]).decode()
    page.evaluate("(a) => { set('query', 1); set('key', 1); set('attention', a); }", fewer)
    expect(other.locator(".mhsa-picture").first).to_contain_text("querykeyabab")
    assert page.evaluate("window.saved") == []
    other.get_by_label("text", exact=True).fill("you did")
    other.get_by_label("text", exact=True).press("Enter")
    other.get_by_label("direction").select_option("query to key")
    assert page.evaluate("window.saved") == [
        ["text", "you did"], "save", ["direction", "query to key"], "save",
    ]  # fmt: skip
    page.evaluate("window.end()")
    assert page.evaluate("window.listeners.length") == 0
    assert other.inner_html() == ""
