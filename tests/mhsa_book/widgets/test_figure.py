"""What every live figure owes its reader, whatever it shows."""

import inspect
import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from mhsa_book import widgets
from mhsa_book.widgets import figure as base
from mhsa_book.widgets.figure import Figure
from tests.helpers.needs import missing
from tests.mhsa_book.widgets.conftest import confirm
from tests.mhsa_book.widgets.every_figure import MAKE, every_figure
from tools import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


def figures():
    return {n for n, c in vars(widgets).items() if inspect.isclass(c) and issubclass(c, Figure)}


def test_every_figure_is_held_to_this():
    assert figures() == set(MAKE)


@every_figure
def test_every_figure_meets_a_kernel_in_a_test_of_its_name(name):
    called = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    files = Path(__file__).parent.glob("test_*with_kernel.py")
    tests = "".join(file.read_text(encoding="utf-8") for file in files)
    assert re.search(rf"^def test_(\w+_)?{called}(_\w+)?\(", tests, re.MULTILINE)


# --- its twin in HTML ------------------------------------------------------------------------


@every_figure
def test_it_shows_itself_with_and_without_a_kernel(name, monkeypatch):
    figure = MAKE[name]()
    monkeypatch.setattr(base, "png", lambda draw: "data:,")
    data, _ = figure._repr_mimebundle_()
    assert data["text/html"] == figure.html()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == repr(figure)
    assert "0x" not in repr(figure)


@every_figure
def test_its_state_is_json_that_holds_no_tag(name, monkeypatch):
    figure = MAKE[name]()
    monkeypatch.setattr(base, "png", lambda draw: "data:,")
    soup = BeautifulSoup(figure.html(), "html.parser")
    text = soup.select_one(".mhsa-figure script[type='application/json']").string
    assert not set("<>&") & set(text)
    state = json.loads(text)
    assert set(state) == set(figure.state())
    assert len(text.encode()) <= 200_000


@every_figure
def test_without_scripts_a_picture_in_words_stays(name, chromium, tmp_path):
    file = tmp_path / "figure.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><main>{MAKE[name]().html()}</main>",
        encoding="utf-8",
    )
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    soup = BeautifulSoup(page.content(), "html.parser")
    still = soup.select_one(".mhsa-figure noscript")
    if image := still.find("img"):
        assert len(image["alt"].split()) >= 8
        assert "mhsa" not in image["alt"]
        assert page.locator(".mhsa-figure img").bounding_box()["width"] > 200
    else:  # a question needs no picture
        assert page.locator(".mhsa-figure details").first.is_visible()
    context.close()


# --- alive -----------------------------------------------------------------------------------

MOUNT = """async () => {
  const root = document.querySelector("[data-mhsa-figure]");
  const state = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const module = await mhsaModules.get(root.dataset.mhsaFigure);
  const listening = new Set(), written = [];
  const model = {
    get: (name) => state[name], set: (name, value) => written.push(name), save_changes() {},
    on: (event, f) => listening.add(f), off: (event, f) => listening.delete(f),
  };
  const el = document.body.appendChild(document.createElement("div"));
  const end = await module.default.render({ model, el });
  const while_alive = [listening.size, el.childElementCount];
  end();
  return { while_alive, after: [listening.size, el.childElementCount], written };
}"""


@every_figure
def test_it_ends_without_a_trace_and_writes_nothing_by_itself(name, open_figure):
    found = open_figure(MAKE[name]()).evaluate(MOUNT)
    assert all(count > 0 for count in found["while_alive"])
    assert found["after"] == [0, 0]
    assert found["written"] == []


@every_figure
@pytest.mark.parametrize(
    ("theme", "width"),
    [
        ("dark", 390),
        pytest.param(
            "light", 1280, marks=pytest.mark.slow
        ),  # a quarter of the pages are judged so
        pytest.param("light", 390, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_it_fits_and_has_nothing_that_axe_finds(name, theme, width, open_figure):
    if not AXE.exists():
        missing("no axe-core in node_modules: run `make vendored`")
    page = open_figure(MAKE[name](), theme=theme, width=width)
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"], v["help"]) for v in violations] == []


@every_figure
def test_printed_it_keeps_its_state_and_drops_its_controls(name, open_figure):
    page = open_figure(MAKE[name](), theme="dark")
    page.emulate_media(media="print")
    assert page.locator(".mhsa-body").is_visible()
    for controls in page.locator(".mhsa-controls").all():
        assert not controls.is_visible()
    ink = page.locator(".mhsa-body").evaluate("(el) => getComputedStyle(el).color")
    assert ink == "rgb(0, 0, 0)"


def test_two_figures_of_a_kind_share_code_and_keep_apart(open_figure):
    class Two:
        def html(self):
            return widgets.ShapeTracer().html() + widgets.ShapeTracer(seq=9).html()

    page = open_figure(Two())
    first, second = (page.get_by_label("seq, exactly").nth(i) for i in (0, 1))
    confirm(first, "77")
    assert (first.input_value(), second.input_value()) == ("77", "9")
    assert page.evaluate("mhsaModules.size") == 1


@pytest.mark.parametrize("make", [widgets.ShapeTracer, widgets.HeadBudget])
def test_a_figure_in_a_centred_place_begins_at_the_left(open_figure, make):
    class Centred:
        def html(self):
            return f'<div style="text-align: center">{make().html()}</div>'

    page = open_figure(Centred())
    aligned = page.locator(".mhsa-body > *").evaluate_all(
        "all => all.map(one => getComputedStyle(one).textAlign)"
    )
    assert set(aligned) <= {"start", "left"}
