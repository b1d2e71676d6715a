"""Every control of every figure at every position: none of them ends in an error.

The full sweep sets values and fires the events that a hand would; keys, mouse and finger then
reach a sample of the same positions for real. A figure counts as wrong where it says so: a
non-empty alert, a field marked as invalid, or an exception in the console.
"""

import pytest

from tests.widgets.test_figure import MAKE, every_figure

WRONG = """(el) => [
  ...[...el.querySelectorAll("[role=alert]")].map((alert) => alert.textContent.trim()),
  ...[...el.querySelectorAll("[aria-invalid=true]")].map((field) => `${field.value} is invalid`),
].filter(Boolean)"""

SWEEP = """async () => {
  const wrongs = (%s);
  const root = document.querySelector("[data-mhsa-figure]");
  const text = root.querySelector("script[type='application/json']").textContent;
  const module = await mhsaModules.get(root.dataset.mhsaFigure);
  const thrown = [];
  addEventListener("error", (event) => thrown.push(event.message));

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
    const controls = [...el.querySelectorAll("input[type=range], select, [type=checkbox], [type=radio]")];
    return { el, controls, end: () => { end(); el.remove(); } };
  }

  /** As many positions as a control has; a slider without steps is tried at 56. */
  const steps = ({ min, max, step }) => (step === "any" ? 55 : Math.round((max - min) / step));
  const size = (control) => (control.options?.length ?? (control.type === "range" ? steps(control) + 1 : 2));
  const fire = (control, ...names) => names.forEach((name) => control.dispatchEvent(new Event(name, { bubbles: true })));
  function put(control, i) {
    if (control.disabled || control.options?.[i].disabled) return false;
    if (control.options) control.selectedIndex = i;
    else if (control.type === "range") control.value = Number(control.min) + (i * (control.max - control.min)) / (size(control) - 1 || 1);
    else if (control.checked === Boolean(i)) return true;
    else { control.click(); return true; }
    fire(control, "input", "change");
    return true;
  }

  const name = (control) => control.getAttribute("aria-label") ?? control.labels[0].textContent;
  const others = { "as it starts": null, "others first": () => 0, "others last": (n) => n - 1, "others halfway": (n) => n >> 1 };
  const found = [];
  const count = (await mount().then(({ controls, end }) => { end(); return controls.length; }));
  for (const [setting, choose] of Object.entries(others)) {
    for (let c = 0; c < count; c += 1) {
      const { el, controls, end } = await mount();
      const control = controls[c];
      const wrong = [];
      let tried = 0;
      const see = (where) => {
        tried += 1;
        const words = [...wrongs(el), ...thrown.splice(0)];
        if (words.length) wrong.push(`${where}: ${words[0]}`);
      };
      if (choose) for (const other of controls) if (other !== control && put(other, choose(size(other)))) see(`before, ${name(other)}`);
      for (let i = 0; i < size(control); i += 1) if (put(control, i)) see(`position ${i}`);
      found.push({ setting, control: name(control), tried, wrong });
      end();
    }
  }
  return found;
}""" % WRONG  # noqa: UP031 (the code is full of braces)


@every_figure
def test_no_position_of_a_control_ends_in_an_error(name, open_figure, report_counts):
    found = open_figure(MAKE[name]()).evaluate(SWEEP)
    report_counts(name, found)
    wrong = [
        f"{one['control']}, {one['setting']}: {len(one['wrong'])} of {one['tried']} positions, "
        f"the first at {one['wrong'][0]}"
        for one in found
        if one["wrong"]
    ]
    assert wrong == []


@pytest.fixture
def report_counts():
    def say(name, found):
        for one in found:
            print(name, one["setting"], one["control"], len(one["wrong"]), "of", one["tried"], one["wrong"][:1])
    return say
