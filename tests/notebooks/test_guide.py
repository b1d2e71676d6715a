"""The field guide: every entry answers first, shows symptom and repair, and says who asked."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.notebooks.conftest import read
from tools import ROOT
from tools.build.symptoms import entries, guides, index, letter, order, places

COLLECTED = ROOT / "tools" / "guide" / "collected"
LEAST, MOST = 150, 40  # entries in all, and in one notebook
ALL = [(path, entry) for path in guides() for entry in entries(path)]
LABELS = [entry.label for _, entry in ALL]


def cells(path, entry):
    """The cell that asks, the one that shows, and the one that says why."""
    every = read(path).cells
    first = next(i for i, c in enumerate(every) if f"({entry.label})=" in c.source)
    return every[first : first + 3]


def addresses():
    found = set()
    for file in COLLECTED.glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            found |= {asked["url"], *asked.get("also", [])}
    return found


def test_there_are_enough_entries_and_not_too_many_on_a_page(capsys):
    counts = {path.stem: len(entries(path)) for path in guides()}
    with capsys.disabled():
        print("\n" + "\n".join(f"{n:4} {name}" for name, n in counts.items()))
        print(f"{len(ALL):4} entries, {sum(len(e.seen) for _, e in ALL)} symptoms")
    assert len(ALL) >= LEAST
    assert max(counts.values()) <= MOST


def test_no_label_and_no_question_stands_twice():
    assert len({*LABELS}) == len(LABELS)
    assert len({entry.question for _, entry in ALL}) == len(ALL)


@pytest.mark.parametrize(("path", "entry"), ALL, ids=LABELS)
def test_an_entry_has_its_three_cells(path, entry):
    _, code, why = cells(path, entry)
    assert len(entry.short.split()) <= 60
    assert 2 <= len(entry.seen) <= 6
    assert code.cell_type == "code"
    assert "nbval-ignore-output" not in code.metadata.get("tags", [])
    assert "".join(out.get("text", "") for out in code.outputs).count("\n") >= 2
    assert re.search(r"^\s*assert ", code.source, re.MULTILINE)
    reason, _, asked = why.source.partition("*Asked:*")
    assert 20 <= len(reason.split()) <= 150
    linked = re.findall(r"\]\((https://[^)\s]+)\)", asked)
    assert linked
    assert {*linked} <= addresses()


RUN = """
import contextlib, io, os, sys, types
import nbformat
nb = nbformat.read(sys.argv[1], as_version=4)
imports, *rest = [c for c in nb.cells if c.cell_type == "code" and c.id != "bootstrap"]
exec(imports.source, {})  # so that each process finds the packages loaded
for cell in rest:
    if os.fork():  # a process of its own: torch.compile remembers one __main__
        if os.wait()[1]:
            print(cell.id, "ended its process", flush=True)
        continue
    sys.modules["__main__"] = types.ModuleType("__main__")
    space = vars(sys.modules["__main__"])
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(imports.source, space)
            exec(cell.source, space)
        except Exception as error:
            print(cell.id, repr(error), file=sys.__stdout__, flush=True)
    os._exit(0)
"""


ALIKE = [pytest.param(path, marks=pytest.mark.slow) for path in guides()[1:]]


# In their order all cells run in every comparison; that one needs no other is seen weekly.
@pytest.mark.parametrize("path", [guides()[0], *ALIKE], ids=lambda path: path.stem)
def test_every_cell_runs_by_itself_after_the_imports(path, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_the_index_has_every_symptom_once_under_its_letter():
    found = [entry for _, entry in ALL]
    text = index(found)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == sum(len(entry.seen) for entry in found)
    letters = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert {*letters} == {letter(symptom) for entry in found for symptom in entry.seen}
    assert letters[1:] == sorted({*letters} - {letters[0]})
    assert [order(line[2:].split(": {ref}")[0]) for line in lines] == sorted(
        order(symptom) for entry in found for symptom in entry.seen
    )
    assert places(found).count("\n") == len(guides())
