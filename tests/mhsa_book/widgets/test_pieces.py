"""The code of figures: pieces in order, short and typed, that touch nothing but figures."""

import ast
import inspect
import re
import shutil
import subprocess

import pytest

from mhsa_book import widgets
from mhsa_book.widgets import figure as base
from tests.helpers.needs import missing
from tests.mhsa_book.widgets.conftest import JS
from tests.mhsa_book.widgets.every_figure import every_figure


def sources():
    return sorted(JS.rglob("*.js"))


@every_figure
def test_its_pieces_make_one_module(name, tmp_path):
    node = shutil.which("node") or missing("no node on this machine")
    file = tmp_path / "figure.mjs"
    file.write_text(getattr(widgets, name).code("js"), encoding="utf-8")
    done = subprocess.run([node, "--check", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        re.search(r"^(import|export (?!default))", file.read_text(encoding="utf-8"), re.M)
        is None
    )


@every_figure
def test_a_piece_comes_after_all_that_it_imports(name):
    pieces = getattr(widgets, name).pieces()
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
    # One reads files that lie beside the page.
    allowed = ["fetch("] if file == JS / "shared" / "kept_parts.js" else []
    assert re.findall(forbidden, file.read_text(encoding="utf-8")) == allowed


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
    weight = len(getattr(widgets, name).code("js").encode())
    report(f"{name}: {lines} lines of Python, {weight / 1000:.1f} kB of JavaScript in all")
    assert lines <= 40


def test_a_script_that_would_end_its_own_tag_is_refused(monkeypatch):
    monkeypatch.setattr(base, "code", lambda piece, suffix: 'el("</script>")')
    with pytest.raises(ValueError, match=r"kit\.js contains </script"):
        base._piece("script", "shared/kit", "js")
