"""The page of checked claims and the cells that settle them name each other."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TARGET = re.compile(r"^\((claim-[a-z0-9-]+)\)=$", flags=re.MULTILINE)
LINK = re.compile(r"\{ref\}`[^`<]*<(claim-[a-z0-9-]+)>`")


def is_quiz(cell) -> bool:
    return "hide-input" in cell["metadata"].get("tags", [])


def settling_cells() -> dict[str, str]:
    """Every target and its next code cell; with the one after a quiz, where a quiz follows."""
    cells: dict[str, str] = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        waiting: list[str] = []
        notebook = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for i, cell in enumerate(notebook):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                targets = TARGET.findall(source)
                assert not set(targets) & cells.keys(), f"{path.name} repeats a target"
                waiting += targets
                cells |= dict.fromkeys(targets, "")
                continue
            for claim in waiting:
                cells[claim] += source
            later = next((c for c in notebook[i + 1 :] if c["cell_type"] == "code"), None)
            if not is_quiz(cell) and not (later and is_quiz(later)):
                waiting = []
        assert not waiting, f"{path.name}: no cell follows {waiting}"
    return cells


def test_every_claim_is_settled_by_an_assertion():
    silent = [claim for claim, source in settling_cells().items() if "assert" not in source]
    assert not silent


def test_the_page_lists_every_claim_once_and_nothing_else():
    listed = LINK.findall((ROOT / "book" / "claims.md").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    assert set(listed) == settling_cells().keys()


def test_there_are_claims():
    assert len(settling_cells()) >= 40
