"""Write the index of the field guide: every symptom, error text and name, and where it leads.

Each entry of a notebook `a3_guide_…` has a line *Seen as:*, symptoms separated by ` · `. The
page `book/guide.md` includes what is written here: the places, and the symptoms by letter.
"""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat

from tools import ROOT
from tools.build.notebooks import notebooks

FOLDER = ROOT / "book" / "_generated"
ENTRY = re.compile(
    r"\((?P<label>guide-[\w-]+)\)=\n### (?P<question>[^\n]+\?)\n\n(?P<short>.+?)\n\n"
    r"\*Seen as:\* (?P<seen>[^\n]+)",
    re.DOTALL,
)


class Entry(NamedTuple):
    """One question of the guide, as its first cell has it."""

    page: str
    section: str
    label: str
    question: str
    short: str
    seen: list[str]


def guides() -> list[Path]:
    return [path for path in notebooks() if path.stem.startswith("a3_guide_")]


def entries(path: Path) -> list[Entry]:
    """The entries of one notebook, in order; ``ValueError`` for one in another form."""
    found, section = [], ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "markdown":
            continue
        section = next(iter(re.findall(r"^## (.+)$", cell.source, re.MULTILINE)), section)
        if "(guide-" not in cell.source:
            continue
        match = ENTRY.fullmatch(cell.source.strip())
        if match is None:
            raise ValueError(f"{path.stem}, {cell.id} has not the form of an entry.")
        seen = [each.strip() for each in match["seen"].split(" · ")]
        words = match["label"], match["question"], match["short"]
        found.append(Entry(path.stem, section, *words, seen))
    return found


def order(symptom: str) -> str:
    """By what a symptom is sorted: its letters and numbers alone.

    >>> order("`NaN`, after a batch")
    'nan after a batch'
    """
    return re.sub(r"[^a-z0-9 ]", "", symptom.casefold()).strip()


def letter(symptom: str) -> str:
    """Under which heading a symptom stands.

    >>> letter("`q @ k.T` overflows"), letter("1e38 in the weights")
    ('Q', 'Signs and numbers')
    """
    first = order(symptom)[:1].upper()
    return first if first.isalpha() else "Signs and numbers"


def index(found: list[Entry]) -> str:
    """The symptoms by their first letter, each with the questions that it leads to."""
    leads = sorted(
        ((symptom, entry) for entry in found for symptom in entry.seen),
        key=lambda lead: (order(lead[0]), lead[1].label),
    )
    lines, heading = [], ""
    for symptom, entry in leads:
        if letter(symptom) != heading:
            heading = letter(symptom)
            lines.append(f"\n## {heading}\n")
        lines.append(f"- {symptom}: {{ref}}`{entry.question.replace('`', '')} <{entry.label}>`")
    return "\n".join(lines).lstrip() + "\n"


def places(found: list[Entry]) -> str:
    """A line for each notebook: its name, how many questions, and its sections."""
    lines = []
    for page in dict.fromkeys(entry.page for entry in found):
        own = [entry for entry in found if entry.page == page]
        sections = "; ".join(dict.fromkeys(entry.section for entry in own))
        lines.append(f"- {{doc}}`/notebooks/{page}`, {len(own)} questions. {sections}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    found = [entry for path in guides() for entry in entries(path)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "symptoms.md").write_text(index(found), encoding="utf-8")
    (FOLDER / "guide_places.md").write_text(places(found), encoding="utf-8")
    print(f"{sum(len(entry.seen) for entry in found)} symptoms of {len(found)} entries")


if __name__ == "__main__":
    main()
