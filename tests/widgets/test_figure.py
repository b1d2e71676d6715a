"""What every live figure owes its reader, whatever it shows."""

import ast
import inspect
import json
import re
import shutil
import subprocess

import pytest
import torch
from bs4 import BeautifulSoup

from mhsa_lib import examples, trace, widgets
from mhsa_lib.variants import GroupedQueryAttention
from mhsa_lib.widgets import figure as base
from mhsa_lib.widgets.figure import Figure
from tests.helpers.needs import missing
from tests.widgets.conftest import JS, confirm
from tools import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


def output_sum():
    mha = examples.attention()
    with trace(mha) as wires:
        mha(examples.sentence())
    return widgets.OutputSum(wires["z"], mha.W_O, examples.SENTENCE)


def followed():
    torch.manual_seed(0)
    return torch.randn(3, 4), GroupedQueryAttention(4, 4, 2)


MAKE = {
    "CacheCalculator": widgets.CacheCalculator,
    "CostLab": widgets.CostLab,
    "HeadBudget": widgets.HeadBudget,
    "HeadExplorer": widgets.HeadExplorer,
    "MaskLab": widgets.MaskLab,
    "OutputSum": output_sum,
    "PassStepper": lambda: widgets.PassStepper(*followed()),
    "Predict": lambda: widgets.Predict("What shape is `x`?", torch.zeros(2, 6, 12).shape),
    "RepeaterLab": widgets.RepeaterLab,
    "ScaleLab": widgets.ScaleLab,
    "ShapeTracer": widgets.ShapeTracer,
    "StageStepper": widgets.StageStepper,
}
every_figure = pytest.mark.parametrize("name", MAKE)


def figures():
    return {n for n, c in vars(widgets).items() if inspect.isclass(c) and issubclass(c, Figure)}


def test_every_figure_is_held_to_this():
    assert figures() == set(MAKE)


def sources():
    return sorted(JS.rglob("*.js"))


# --- the code --------------------------------------------------------------------------------


@every_figure
def test_its_pieces_make_one_module(name, tmp_path):
    node = shutil.which("node") or missing("no node on this machine")
    file = tmp_path / "figure.mjs"
    file.write_text(getattr(widgets, name)._esm, encoding="utf-8")
    done = subprocess.run([node, "--check", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        re.search(r"^(import|export (?!default))", file.read_text(encoding="utf-8"), re.M)
        is None
    )


@every_figure
def test_a_piece_comes_after_all_that_it_imports(name):
    pieces = getattr(widgets, name).pieces
    assert len(set(pieces)) == len(pieces)
    for i, piece in enumerate(pieces):
        text = (JS / f"{piece}.js").read_text(encoding="utf-8")
        imported = re.findall(r'^import [^;]* from "(\..*)\.js";$', text, re.M)
        assert len(imported) == len(re.findall(r"^import ", text, re.M))
        paths = {(JS / piece).parent.joinpath(path).resolve() for path in imported}
        assert paths <= {JS.resolve() / before for before in pieces[:i]}, piece


@pytest.mark.parametrize("file", sources(), ids=lambda file: file.relative_to(JS).as_posix())
def test_no_script_reads_text_as_code_or_asks_a_network(file):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    forbidden += r"|\bfetch\(|XMLHttpRequest|https?://(?!www\.w3\.org)"
    assert re.findall(forbidden, file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "file", sorted(JS.rglob("*.css")), ids=lambda file: file.relative_to(JS).as_posix()
)
def test_styles_touch_nothing_but_figures_and_nothing_moves_unasked(file):
    text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.S)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@]+?)\s*\{", text)
    assert selectors
    assert [
        s for s in selectors if ".mhsa-" not in s and not re.match(r"(from|to|\d+%)", s)
    ] == []
    calm = re.split(r"@media \(prefers-reduced-motion: no-preference\)", text)[0]
    assert re.findall(r"\b(?:animation|transition)\b", calm) == []


@pytest.mark.parametrize("file", sources(), ids=lambda file: file.relative_to(JS).as_posix())
def test_a_piece_is_typed_and_can_be_read_in_one_sitting(file):
    first, *lines = file.read_text(encoding="utf-8").splitlines()
    assert first == "// @ts-check"
    assert lines[0].startswith("// ")
    assert len(lines) < 150
    assert max(map(len, lines)) <= 100


def lines_of_logic(name: str) -> int:
    """Logical lines inside the functions of a figure's class: statements, however long."""
    tree = ast.parse(inspect.getsource(getattr(widgets, name)))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    statements = sum(isinstance(n, ast.stmt) for f in functions for n in ast.walk(f))
    return statements - sum(1 + (ast.get_docstring(f) is not None) for f in functions)


@every_figure
def test_its_class_is_short(name, report):
    lines = lines_of_logic(name)
    weight = len(getattr(widgets, name)._esm.encode())
    report(f"{name}: {lines} lines of Python, {weight / 1000:.1f} kB of JavaScript in all")
    assert lines <= 40


# --- its twin in HTML ------------------------------------------------------------------------


@every_figure
def test_it_shows_itself_with_and_without_a_kernel(name):
    figure = MAKE[name]()
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
        assert page.locator(".mhsa-figure details").is_visible()
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
        ("light", 1280),
        ("dark", 390),
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


PHONE = (
    339  # the width of a figure in the book on a phone of 390 pixels, and the test's margins
)
CUT = """() => [...document.querySelectorAll(".mhsa-figure :not(pre)")].filter((one) =>
  one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto",
).map((one) => [
    one.className.split(" ")[0],
    one.tabIndex === 0 || one.querySelector("[tabindex='0']") !== null,
    one.role, one.ariaLabel,
    getComputedStyle(one).backgroundImage.includes("gradient")])"""


@every_figure
def test_nothing_is_cut_on_a_phone_without_a_sign(open_figure, name):
    page = open_figure(MAKE[name](), width=PHONE)
    cut = page.evaluate(CUT)
    for element, tab, role, label, hint in cut:
        assert (element, tab, role, hint) == ("mhsa-scroll", True, "group", True)
        assert label


@pytest.mark.parametrize(
    "make",
    [
        output_sum,
        lambda: widgets.ShapeTracer(d_model=768, n_heads=12, seq=2048),
        lambda: widgets.HeadBudget(n_heads=32),
        widgets.CacheCalculator,
    ],
)
def test_what_a_chapter_asks_about_fits_a_phone(open_figure, make):
    assert open_figure(make(), width=PHONE).evaluate(CUT) == []


def test_words_in_a_drawing_can_be_read_on_a_phone(open_figure):
    page = open_figure(output_sum(), width=PHONE)
    heights = page.locator(".mhsa-scroll svg text").evaluate_all(
        "all => all.map(one => one.getScreenCTM().a"
        " * parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(heights) >= 9


def test_a_script_that_would_end_its_own_tag_is_refused(monkeypatch):
    monkeypatch.setattr(base, "code", lambda piece, suffix: 'el("</script>")')
    with pytest.raises(ValueError, match=r"kit\.js contains </script"):
        base._piece("script", "shared/kit", "js")
