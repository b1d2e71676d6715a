"""A chapter has one number and one name: in its file, its title, the contents and the prose."""

import re

import yaml

from tests.notebooks.conftest import read
from tools import ROOT
from tools.build.notebooks import notebooks

LAST = 27
CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
LISTED = [entry for part in CONTENTS["parts"] for entry in part["chapters"]]
NAMES = {
    entry["file"].removeprefix("notebooks/"): entry["title"]
    for entry in LISTED
    if entry["file"].startswith("notebooks/")
}
# Names without a number begin with a letter: the primer, a1_… of the appendix, lab_01_….
NUMBERED = {path.stem: read(path) for path in notebooks() if path.stem[0].isdigit()}


def written(stem):
    """The number as a reader sees it: 12b comes after 12."""
    return re.match(r"(\d\d[a-z]?)_[a-z]", stem)[1]


def number(stem):
    return int(written(stem)[:2])


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_numbers_are_used_once_and_none_is_missing():
    used = [written(stem) for stem in NUMBERED]
    assert sorted(set(used)) == sorted(used)
    whole = [int(name) for name in used if name.isdigit()]
    assert sorted(whole) == list(range(whole[0], LAST + 1))
    assert whole[0] in (0, 1)  # 00 is the chapter before the first stage
    assert {name[:2] for name in used} == {f"{n:02}" for n in whole}


def test_the_contents_list_every_chapter_in_the_order_of_its_number():
    assert [stem for stem in NAMES if stem in NUMBERED] == list(NUMBERED)


def test_the_contents_begin_a_name_with_the_number_of_the_file():
    assert [s for s in NUMBERED if not NAMES[s].startswith(f"{written(s)} ")] == []


def test_a_title_is_the_name_and_a_question():
    titles = {stem: nb.cells[0].source.splitlines()[0] for stem, nb in NUMBERED.items()}
    assert [
        title
        for stem, title in titles.items()
        if not re.fullmatch(rf"# {re.escape(NAMES[stem])}: .+\?", title)
    ] == []


def test_the_cells_carry_the_number_of_their_chapter():
    others = {
        stem: [
            c.id
            for c in nb.cells
            if c.id != "bootstrap" and not c.id.startswith(f"{written(stem)}-")
        ]
        for stem, nb in NUMBERED.items()
    }
    assert {stem: ids for stem, ids in others.items() if ids} == {}


def test_a_chapter_asks_only_for_earlier_ones():
    late = []
    for stem, nb in NUMBERED.items():
        asked = prose(nb).partition("## Before you start")[2].partition("\n## ")[0]
        linked = re.findall(r"\{doc\}`(?:[^`<]*<)?/notebooks/([^`>]+)", asked)
        late += [(stem, link) for link in linked if link != "primer" and link >= stem]
    assert late == []


def test_prose_names_no_chapter_that_is_missing():
    used = {number(stem) for stem in NUMBERED}
    texts = {stem: prose(nb) for stem, nb in NUMBERED.items()}
    texts |= {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "book").glob("*.md")}
    missing = [
        (name, found[0])
        for name, text in texts.items()
        for found in re.finditer(r"\b[Cc]hapters? (\d+)(?: (?:to|and) (\d+))?", text)
        if not {int(n) for n in found.groups() if n} <= used
    ]
    assert missing == []


def test_the_claims_stand_under_the_chapter_that_settles_them():
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    home = {
        claim: stem
        for stem, nb in NUMBERED.items()
        for claim in re.findall(r"^\((claim-[a-z0-9-]+)\)=$", prose(nb), flags=re.MULTILINE)
    }
    sections = re.split(r"^## Chapter (\d\d[a-z]?), (.+)$", page, flags=re.MULTILINE)[1:]
    for digits, words, rows in zip(*[iter(sections)] * 3, strict=True):
        (stem,) = {home[claim] for claim in re.findall(r"<(claim-[a-z0-9-]+)>", rows)}
        assert f"{digits} {words}".lower() == NAMES[stem].lower()
