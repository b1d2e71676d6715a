"""The teacher's sheet speaks of the chapters as they are; its lessons last as long as said."""

import json
import re

import pytest

from mhsa_book import examples
from tests.notebooks.conftest import read
from tests.notebooks.test_numbers import NAMES, NUMBERED, written
from tools import ROOT
from tools.build.notebooks import FOLDER

# A deep dive, 05a, may be skipped, so no lesson is about it.
FIRST_PARTS = ["primer", *(stem for stem in NUMBERED if "00" <= written(stem) <= "09")]
FIRST_PARTS = [stem for stem in FIRST_PARTS if not re.match(r"\d\d[a-z]", stem)]
CHAPTERS = {stem: read(FOLDER / f"{stem}.ipynb") for stem in FIRST_PARTS}


@pytest.fixture(scope="module")
def page():
    return (ROOT / "book" / "teachers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sections(page):
    """What the sheet says of each chapter, by the name in its heading."""
    heading = r"^## (Primer|\d\d[a-z]? .+)\n"
    found = re.findall(heading + r"((?:(?!^## ).*\n)*)", page, flags=re.MULTILINE)
    return dict(found)


def test_the_lessons_last_three_quarters_of_an_hour_and_twice_that(page):
    tables = re.findall(r"\| minutes .*\n((?:\|.*\n)+)", page)
    lasting = [sum(map(int, re.findall(r"^\| (\d+) \|", t, re.MULTILINE))) for t in tables]
    assert lasting == [45, 45, 45, 90]


def test_every_chapter_has_a_section_under_its_name(sections):
    for name in [NAMES[stem] for stem in FIRST_PARTS]:
        labels = re.findall(r"^\*\*(\w+)\.\*\*", sections[name], flags=re.MULTILINE)
        asked = re.findall(r"^:::\{dropdown\} .+\?$", sections[name], flags=re.MULTILINE)
        assert labels == ["Idea", "Misconception", "Answers", "Project", "Exercises"], name
        assert len(asked) == 2, name


def test_the_sheet_answers_each_prediction_as_the_page_does(sections):
    for stem in FIRST_PARTS:
        said = re.search(r"^\*\*Answers\.\*\* (.+)", sections[NAMES[stem]], re.MULTILINE)[1]
        shown = [
            out["data"].get("text/html", "")
            for cell in CHAPTERS[stem].cells
            for out in cell.get("outputs", [])
            if out.get("data", {}).get("text/plain", "").startswith("Predict(")
        ]
        states = [
            re.search(r"(?s)application/json\">(.*?)</script>", html)[1] for html in shown
        ]
        answers = [f"{json.loads(state)['answer']}" for state in states]
        assert answers, stem
        assert [answer for answer in answers if answer not in said] == [], stem


def test_every_step_of_a_lesson_leads_to_its_chapter(page):
    steps = re.findall(r"^\| \d+ \| (.+) \| (.*)\|$", page, flags=re.MULTILINE)
    unlinked = [what for what, where in steps if "{doc}`" not in where]
    assert unlinked == ["Buffer"] * 2


def test_a_chapter_shows_the_widget_that_is_to_be_projected(sections):
    for stem in FIRST_PARTS:
        code = "\n".join(c.source for c in CHAPTERS[stem].cells if c.cell_type == "code")
        widgets = re.findall(r"`([A-Z]\w+[a-z][A-Z]\w+)`", sections[NAMES[stem]])
        assert [name for name in widgets if f"{name}(" not in code] == [], stem
        told = re.findall(r"`, under \*([^*]+)\*", sections[NAMES[stem]])
        prose = "\n".join(c.source for c in CHAPTERS[stem].cells if c.cell_type == "markdown")
        assert [heading for heading in told if f"## {heading}\n" not in prose] == [], stem


def test_the_handout_has_the_numbers_of_the_example(page):
    rows = re.findall(r"^\| (\w+) \| ([-−\d ]+) \| ([-−\d ]+) \|$", page, flags=re.MULTILINE)
    keys, values = (
        [[int(number) for number in row[i].replace("−", "-").split()] for row in rows]
        for i in (1, 2)
    )
    wires = examples.running()
    assert tuple(row[0] for row in rows) == tuple(examples.SENTENCES[0])
    assert keys == wires["k_heads"][0, 0].tolist()
    assert values == wires["v_heads"][0, 0].tolist()
    assert wires["q_heads"][:, 0, 6].tolist() == [[4, 0, 0, 0], [0, 4, 0, 0]]
    assert wires["k_heads"][1, 0, 6].tolist() == [-4, 0, 0, 0]
    assert wires["v_heads"][1, 0, 6].tolist() == [0, 0, 1, 0]
    found = [[round(n, 4) for n in z] for z in wires["z"][:, 0, 6, :3].tolist()]
    assert found == [[0.9983, 0.9983, 0.0003], [0.9983, 0.0003, 0.9983]]
