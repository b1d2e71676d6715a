"""The form that every chapter keeps, read off the stored notebooks."""

import re
from itertools import pairwise

from tools.build.notebooks import code_cells, notebooks, tags

FRAME = [
    "What you will be able to do",
    "Before you start",
    "What to remember",
    "Exercises",
    "Sources",
]
HIDDEN = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
# What depends on the machine or the day: addresses, paths, versions, timings, random names.
UNSTABLE = (
    r"\b0x[0-9a-f]{6,}|(?<![\w.])/(?:home|root|tmp|usr|work|content|Users)/|site-packages"
    r"|\b\d+\.\d+\.\d+\b|\b\d+\.\d+\+\w+|\b\d[\d.]* ?(?:ms|µs|us|ns|seconds|it/s)\b"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}"
)
PLUMBING = r"sys\.path|\bplt\.|\bpip\b|^\s*[%!]|os\.environ|warnings\.|rcParams|NBVAL_"


DEVICE = {  # the same two lines in every notebook: nothing that a chapter makes longer
}


def visible_lines(cell):
    return [line for line in cell.source.splitlines() if line.strip() and line not in DEVICE]


def reader_cells(notebook):
    """Return the code cells that a reader reads: all but the bootstrap cell."""
    return [cell for cell in code_cells(notebook) if cell.id != "bootstrap"]


def imports(cell):
    return bool(re.search(r"^(import|from) ", cell.source, re.MULTILINE))


def markdown(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def texts(output):
    """Return every text that an output shows."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [output.evalue]
    return [str(body) for mime, body in output.data.items() if not mime.startswith("image/")]


def between(notebook, start, end):
    """Yield the code cells between directives whose names begin with start and end."""
    inside, cells = False, []
    for cell in notebook.cells:
        if cell.cell_type == "code" and inside:
            cells.append(cell)
        if cell.cell_type == "markdown":
            inside = inside or f"{{{start}}}" in cell.source
            if inside and f"{{{end}}}" in cell.source:
                yield cells
                inside, cells = False, []


def test_there_are_notebooks():
    assert notebooks()


# --- the frame -------------------------------------------------------------------------------


def test_the_first_cell_is_a_title_that_asks_the_question(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "?" in first.source


def test_there_is_one_title(notebook):
    prose = re.sub(r"```.*?```", "", markdown(notebook), flags=re.DOTALL)
    assert len(re.findall(r"^# ", prose, flags=re.MULTILINE)) == 1


def test_the_sections_of_the_frame_are_there_in_order(chapter):
    headings = re.findall(r"^## (.+?)\s*$", markdown(chapter), flags=re.MULTILINE)
    assert [h for h in headings if h in FRAME] == FRAME


def test_the_imports_are_one_short_cell(notebook):
    importing = [cell for cell in reader_cells(notebook) if imports(cell)]
    assert len(importing) == 1
    assert len(visible_lines(importing[0])) <= 15  # as any visible cell


# --- the cells -------------------------------------------------------------------------------


def test_no_two_code_cells_in_a_row(notebook):
    """Except hidden ones, and a check (tag `check`) right after what it checks."""
    cells = [cell for cell in notebook.cells if not tags(cell) & HIDDEN]
    pairs = [
        second.source.splitlines()[0]
        for first, second in pairwise(cells)
        if first.cell_type == second.cell_type == "code" and "check" not in tags(second)
    ]
    assert pairs == []


def test_no_cell_shows_plumbing(notebook):
    found = [
        line
        for cell in reader_cells(notebook)
        for line in cell.source.splitlines()
        if re.search(PLUMBING, line)
    ]
    assert found == []


def test_every_figure_has_an_alt_text_and_a_caption_that_states_the_finding(notebook):
    poor = []
    for cell in code_cells(notebook):
        if not any("image/" in mime for out in cell.outputs for mime in out.get("data", {})):
            continue
        shown = cell.metadata.get("mystnb", {})
        alt = shown.get("image", {}).get("alt", "")
        caption = shown.get("figure", {}).get("caption", "")
        if len(alt.split()) < 5 or len(caption.split()) < 4:
            poor.append((cell.source.splitlines()[0], alt, caption))
    assert poor == []


def test_no_cell_ends_in_the_bare_name_of_an_object(notebook):
    bare = [
        out.data["text/plain"]
        for cell in code_cells(notebook)
        for out in cell.outputs
        if out.output_type == "execute_result" and "text/html" not in out.data
        if re.fullmatch(r"\[?<[^<>\n]*>\]?", out.data.get("text/plain", ""))
    ]
    assert bare == []


def test_no_cell_leaves_a_warning(notebook):
    said = [
        out.text
        for c in code_cells(notebook)
        for out in c.outputs
        if out.get("name") == "stderr"
    ]
    assert said == []


def test_compared_outputs_name_no_address_path_version_or_time(notebook):
    found = [
        match[0]
        for cell in code_cells(notebook)
        if "nbval-ignore-output" not in tags(cell)
        for out in cell.outputs
        for text in texts(out)
        if (match := re.search(UNSTABLE, text))
    ]
    assert found == []


# --- the exercises ---------------------------------------------------------------------------


def test_there_are_three_exercises_and_each_has_a_hidden_solution(chapter):
    text = markdown(chapter)
    labels = re.findall(r"\{exercise-start\}[^\n]*\n(?::[^\n]*\n)*?:label: (\S+)", text)
    solved = re.findall(r"\{solution-start\} (\S+)\n(?::[^\n]*\n)*?:class: dropdown", text)
    assert len(labels) >= 3
    assert labels == solved


def test_what_is_said_about_times_held_where_they_were_measured(chapter):
    said = [o.get("text", "") for c in chapter.cells for o in c.get("outputs", [])]
    assert [text for text in said if "Not here: " in text] == []


def test_every_solution_was_executed(chapter):
    solutions = list(between(chapter, "solution-start", "solution-end"))
    assert len(solutions) >= 3
    assert all(cells for cells in solutions)
    assert all(cell.execution_count is not None for cells in solutions for cell in cells)


def checked(cells):
    """The exercise that the last line of some cells hands to ``exercises.check``."""
    last = visible_lines(cells[-1])[-1]
    found = re.match(r'exercises\.check\("([^"]+)", ', last)
    return found and found[1]


def test_every_exercise_ends_in_a_check_for_the_reader(chapter):
    stubs = list(between(chapter, "exercise-start", "exercise-end"))
    solutions = list(between(chapter, "solution-start", "solution-end"))
    assert all(stubs)
    assert all("..." in cells[0].source for cells in stubs)
    assert all(map(checked, stubs))
    assert [checked(cells) for cells in solutions] == [checked(cells) for cells in stubs]
    assert [said(cells)[:5] for cells in solutions] == ["Right"] * len(stubs)
    assert [
        said(cells) for cells in stubs if not said(cells).endswith("place of the dots.")
    ] == []


def said(cells):
    """What the last cell of an exercise or a solution answers."""
    (output,) = cells[-1].outputs
    return output.data["text/plain"]


def test_no_cell_is_left_out_when_all_are_run(notebook):
    assert [c.id for c in code_cells(notebook) if any("skip" in tag for tag in tags(c))] == []
