"""Every control of every figure at every position: none of them ends in an error.

The sweep sets values and fires the events that a hand would: at up to three positions of a
control, with the others at their start or at their end; and at every position, with the others
also elsewhere, when there is time (`make slow`). Keys, mouse and finger then reach a sample of
the same positions for real. A figure counts as wrong where it says so: a non-empty alert, a
field marked as invalid, or an exception.
"""

import pytest

from mhsa_book import widgets
from tests.mhsa_book.widgets.every_figure import MAKE, every_figure

CONTROLS = "input[type=range], select, [type=checkbox], [type=radio]"
WRONG = """(el) => [
  ...[...el.querySelectorAll("[role=alert]")].map((alert) => alert.textContent.trim()),
  ...[...el.querySelectorAll("[aria-invalid=true]")].map((field) => `invalid: ${field.value}`),
].filter(Boolean)"""
MOUNT = """
  const root = document.querySelector("[data-mhsa-figure]");
  const text = root.querySelector("script[type='application/json']").textContent;
  const module = await mhsaModules.get(root.dataset.mhsaFigure);

  /** The figure once more, alone with a model that tells of every change at once. */
  async function mount() {
    const [state, listeners] = [JSON.parse(text), {}];
    const of = (event) => (listeners[event] ??= new Set());
    const el = document.querySelector("main").appendChild(document.createElement("div"));
    const end = await module.default.render({ el, model: {
      get: (name) => state[name], on: (event, f) => of(event).add(f),
      off: (event, f) => of(event).delete(f), save_changes() {},
      set(name, value) {
        if (state[name] === value) return;
        state[name] = value;
        for (const listen of [...of(`change:${name}`)]) listen();
      },
    } });
    const controls = [...el.querySelectorAll(CONTROLS)];
    return { el, controls, end: () => { end(); el.remove(); } };
  }
"""
OPERATE = """
  /** As many positions as a control has; a slider without steps is tried at 56. */
  const steps = ({ min, max, step }) => (step === "any" ? 55 : Math.round((max - min) / step));
  const size = (control) =>
    control.options?.length ?? (control.type === "range" ? steps(control) + 1 : 2);
  const value = (i, { min, max }, n) => Number(min) + (i * (max - min)) / (n - 1 || 1);
  const fire = (control, name) => control.dispatchEvent(new Event(name, { bubbles: true }));

  /** Put a control at one of its positions; false where a reader cannot. */
  function put(control, i) {
    if (control.disabled || control.options?.[i].disabled) return false;
    if (control.type === "checkbox" || control.type === "radio") {
      if (control.checked !== Boolean(i)) control.click();
      return true;
    }
    if (control.options) control.selectedIndex = i;
    else control.value = value(i, control, size(control));
    fire(control, "input");
    fire(control, "change");
    return true;
  }
"""
SETTINGS = {
    "as it starts": "null",
    "others last": "(n) => n - 1",
    "others first": "() => 0",
    "others halfway": "(n) => n >> 1",
}
SWEEP = f"""async ([CONTROLS, most, chosen]) => {{
  const wrongs = {WRONG};
  {MOUNT}{OPERATE}
  const thrown = [];
  addEventListener("error", (event) => thrown.push(event.message));
  const name = (one) => one.getAttribute("aria-label") ?? one.labels[0].textContent;
  const settings = {{ {", ".join(f'"{name}": {js}' for name, js in SETTINGS.items())} }};
  const found = [];
  const once = await mount();
  once.end();
  for (const setting of chosen) {{
    const choose = settings[setting];
    for (const c of once.controls.keys()) {{
      const {{ el, controls, end }} = await mount();
      const [control, wrong] = [controls[c], []];
      let tried = 0;
      const see = (where) => {{
        tried += 1;
        const words = [...wrongs(el), ...thrown.splice(0)];
        if (words.length) wrong.push(`${{where}}: ${{words[0]}}`);
      }};
      for (const other of choose ? controls.toSpliced(c, 1) : []) {{
        if (put(other, choose(size(other)))) see(`before, ${{name(other)}}`);
      }}
      const [last, n] = [size(control) - 1, Math.min(most, size(control))];
      for (let step = 0; step < n; step += 1) {{
        const i = Math.round((step * last) / (n - 1 || 1));
        if (put(control, i)) see(`position ${{i}}`);
      }}
      found.push({{ setting, control: name(control), tried, wrong }});
      end();
    }}
  }}
  return found;
}}"""


@every_figure
@pytest.mark.parametrize(
    ("most", "settings"),
    [(3, [*SETTINGS][:2]), pytest.param(10_000, [*SETTINGS], marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_no_position_of_a_control_ends_in_an_error(name, most, settings, open_figure):
    page = open_figure(MAKE[name]())
    count = page.locator(CONTROLS).count()
    found = page.evaluate(SWEEP, [CONTROLS, most, settings])
    assert len(found) == len(settings) * count
    assert all(one["tried"] > 0 for one in found)
    wrong = [
        f"{one['control']}, {one['setting']}: {len(one['wrong'])} of {one['tried']} positions, "
        f"the first at {one['wrong'][0]}"
        for one in found
        if one["wrong"]
    ]
    assert wrong == []


# --- the same by hand ------------------------------------------------------------------------

SLID = {
    **MAKE,
    "MaskLab": lambda: widgets.MaskLab(kind="prefix", n=2),
    "ScaleLab": lambda: widgets.ScaleLab(scale="1/temperature", temperature=3),
}


class Slider:
    """A slider in sight: where it stands, and three ways to move it."""

    def __init__(self, page, dial):
        self.page, self.range = page, dial.locator("input[type=range]").element_handle()
        self.field = dial.locator("input[type=number]").element_handle()

    def at(self) -> float:
        """Return where it stands, once nothing is wrong with that."""
        value, words, wrong = self.field.evaluate(
            f"""(field) => [field.value, field.previousElementSibling.ariaValueText,
            ({WRONG})(field.closest(".mhsa-figure"))]"""
        )
        assert wrong == []
        assert words
        return float(value)

    def press(self, key: str) -> float:
        self.range.press(key)
        return self.at()

    def place(self, share: float) -> tuple[float, float]:
        box = self.range.bounding_box()
        return box["x"] + share * box["width"], box["y"] + box["height"] / 2

    def drag(self, start: float, stop: float) -> list[float]:
        """Drag from one share of its width to another; return where it stood on the way."""
        self.page.mouse.move(*self.place(start))
        self.page.mouse.down()
        seen = []
        for part in (0.4, 1):
            self.page.mouse.move(*self.place(start + part * (stop - start)))
            seen.append(self.at())
        self.page.mouse.up()
        return seen

    def tap(self, share: float) -> float:
        self.page.touchscreen.tap(*self.place(share))
        return self.at()


@pytest.mark.parametrize("name", SLID)
def test_keys_mouse_and_finger_reach_both_ends_and_stops_between(name, open_figure):
    page = open_figure(SLID[name](), has_touch=True)
    for dial in page.locator(".mhsa-dial:visible").all():
        slider = Slider(page, dial)
        first, last = slider.press("Home"), slider.press("End")
        assert first < last
        assert slider.press("ArrowRight") == last  # there it ends
        keys = ["ArrowLeft", "ArrowDown", "PageDown", "PageUp", "ArrowUp"]
        a, b, c, d, e = (slider.press(key) for key in keys)
        assert last > a > b > c >= first
        assert c < d < e <= last
        there, back = slider.drag(0.98, 0.02), slider.drag(0.02, 0.98)
        assert (there, back) == (sorted(there, reverse=True), sorted(back))
        assert (there[-1], back[-1]) == (first, last)
        tapped = [slider.tap(share) for share in (0.1, 0.6, 0.95)]
        assert tapped == sorted(set(tapped))
