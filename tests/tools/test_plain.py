"""The plain edition: no MyST is left, nothing else is changed, and answers are folded."""

import functools
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.build import plain
from tools.build.notebooks import FOLDER, SVG, notebooks, tags
from tools.build.plain_text import constructs
from tools.build.plain_text import plain as plain_text

DRAWN = {"mystnb": {"image": {"alt": "Two bars."}}}
MARKUP = (":::", "{doc}", "{cite}", "{cite:t}", "{term}", "{ref}", ")=\n")
EXERCISE = """\
:::{exercise-end}
:::

:::{solution-start} split-by-hand
:class: dropdown
:::

The strides are (84, 4).
"""


@functools.cache
def editions(path):
    source = nbformat.read(path, as_version=4)
    return source, plain.edition(source, path.stem)


@pytest.fixture(params=notebooks(), ids=lambda path: path.stem)
def both(request):
    return editions(request.param)


def markdown(nb):
    return [cell for cell in nb.cells if cell.cell_type == "markdown"]


def code(nb):
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def solutions(nb):
    """The ids of the code cells that solve an exercise."""
    found, solving = set(), False
    for cell in nb.cells:
        if cell.cell_type == "code" and solving:
            found.add(cell.id)
        solving = "{solution-start}" in cell.source.rpartition("{solution-end}")[2] or (
            solving and "{solution-end}" not in cell.source
        )
    return found


def test_no_cell_holds_myst(both):
    _, new = both
    assert [c.source for c in markdown(new) if constructs(c.source)] == []
    assert [c.source for c in markdown(new) if any(m in c.source for m in MARKUP)] == []


def test_the_code_and_its_outputs_stay(both):
    source, new = both

    def shown(nb):
        return [
            (c.id, c.source.removeprefix(title(c)), list(map(bare, c.outputs)))
            for c in code(nb)
        ]

    def bare(output):
        data = dict(output.get("data", {}))
        if "image/png" in data:
            data.pop(SVG, None)
        return {**output, "metadata": {}, "data": data}

    def title(cell):
        first, _, _ = cell.source.partition("\n")
        return f"{first}\n" if first.startswith("# @title ") else ""

    solved = solutions(source)
    assert [cell for cell in shown(new) if cell[0] not in solved] == [
        cell for cell in shown(source) if cell[0] not in solved
    ]


def test_a_solution_gives_nothing_away_when_all_cells_run(both):
    source, new = both
    checks = {c.id: c.source.rpartition("exercises.check(") for c in code(source)}
    for cell in code(new):
        if cell.id in solutions(source):
            before, call, after = checks[cell.id]
            said = f"{before}assert {call}{after}" if call else plain.quietly(after)
            assert cell.source == f"# @title Solution\n{said}"
            assert call or all(line.startswith("#") for line in cell.source.splitlines())
            assert cell.outputs == []


def test_folded_code_is_folded_everywhere_and_nothing_else_is(both):
    source, new = both
    folded = {c.id for c in code(new) if c.metadata.get("cellView") == "form"}
    hidden = {c.id for c in code(new) if "jupyter" in c.metadata}
    asked = {
        c.id for c in code(source) if tags(c) & {"hide-input", "remove-input", "hide-cell"}
    }
    assert folded == hidden == asked | solutions(source)


def test_a_check_is_folded_under_its_name(both):
    source, new = both
    checked = {c.id for c in code(source) if "check" in tags(c)}
    assert checked == {c.id for c in code(new) if c.source.startswith("# @title Check\n")}


def test_the_caption_of_every_figure_follows_it(both):
    source, new = both
    captions = {
        c.id: figure["caption"]
        for c in code(source)
        if (figure := c.metadata.get("mystnb", {}).get("figure"))
    }
    after = {
        c.id: following.source for c, following in zip(new.cells, new.cells[1:], strict=False)
    }
    assert {id: after[id] for id in captions} == {
        id: f"*{plain_text(caption)}*" for id, caption in captions.items()
    }


def test_it_begins_with_a_badge_for_itself_and_its_page():
    path = FOLDER / "04_split.ipynb"
    new = plain.edition(nbformat.read(path, as_version=4), path.stem)
    title, _, badge, *_ = new.cells[0].source.splitlines()
    assert title.startswith("# 04 ")
    assert plain.colab(path.stem) in badge
    assert f"/notebooks/{path.stem}.html" in badge


def test_pictures_keep_their_alt_texts(both):
    source, new = both
    described = {
        c.id: c.metadata["mystnb"]["image"]["alt"]
        for c in code(source)
        if "image" in c.metadata.get("mystnb", {})
    }
    assert {
        c.id: output.metadata["image/png"]["alt"]
        for c in code(new)
        for output in c.outputs
        if c.id in described and "image/png" in output.get("data", {})
    } == described


def test_a_drawing_is_png_there_which_carries_its_alt_text():
    drawn = new_output("display_data", data={SVG: "<svg/>", "image/png": "iVBO"})
    cell = new_code_cell("plots.bars()", outputs=[drawn], metadata=DRAWN)
    nb = plain.edition(new_notebook(cells=[new_markdown_cell("# Why?"), cell]), "04_split")
    (output,) = nb.cells[1].outputs
    assert output.data == {"image/png": "iVBO"}
    assert output.metadata == {"image/png": {"alt": "Two bars."}}


def test_the_last_cell_names_the_notebooks_beside_this_one():
    path = FOLDER / "04_split.ipynb"
    new = plain.edition(nbformat.read(path, as_version=4), path.stem)
    assert "[05 Attend](05_attend.ipynb)" in new.cells[-1].source
    assert f"({path.name})" not in new.cells[-1].source


def test_a_solution_folds_and_says_where_its_code_is():
    text = plain_text(EXERCISE)
    assert text.startswith("<details>\n<summary>Solution</summary>\n\nThe strides are (84, 4).")
    assert "The next cell, titled Solution, has the code." in text
    assert text.endswith("</details>")


def test_no_text_speaks_of_a_page_that_is_not_there(both):
    _, new = both
    only_there = re.compile(r"(this|on the|in the|inside the) page\b|folded (cell|here)", re.I)
    found = [(c.id, said[0]) for c in markdown(new) for said in only_there.finditer(c.source)]
    assert found == []


def test_a_box_keeps_lists_formulas_and_roles():
    box = ":::{admonition} Try\n:class: try\n- {term}`view`\n- $a_1$\n:::"
    quoted = plain_text(box).splitlines()
    assert quoted[:2] == ["> **Try**", ">"]
    assert quoted[2].startswith("> - [view](https://")
    assert quoted[3] == "> - $a_1$"


def test_ordinary_markdown_stays_letter_by_letter():
    text = "| a | b |\n|---|---|\n| $x_1$ | `{doc}` |\n\n```python\nx = {1}\n```\n\n$$a\\\\b$$"
    assert plain_text(text) == text


@pytest.mark.parametrize("text", [":::{margin}\nx\n:::", "see {numref}`fig`"])
def test_what_has_no_plain_form_is_refused_by_name(text):
    with pytest.raises(ValueError, match=r"\{(margin|numref)\} has no plain form"):
        plain_text(text)


def test_old_notebooks_leave_the_folder(tmp_path):
    (tmp_path / "99_gone.ipynb").write_text("{}", encoding="utf-8")
    plain.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in notebooks()}
