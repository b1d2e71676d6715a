"""The page of checked claims and the cells that settle them name each other."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TARGET = re.compile(r"^\((claim-[a-z0-9-]+)\)=$", flags=re.MULTILINE)
LINK = re.compile(r"\{ref\}`[^`<]*<(claim-[a-z0-9-]+)>`")


def settling_cells() -> dict[str, str]:
    """Every target and the code that follows it in its section, before the next claim."""
    cells: dict[str, str] = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        open_claims: list[str] = []
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                for claim in open_claims:
                    cells[claim] += source
            elif targets := TARGET.findall(source):
                assert not set(targets) & cells.keys(), f"{path.name} repeats a target"
                open_claims = targets
                cells |= dict.fromkeys(targets, "")
            elif re.search("^## ", source, re.M):
                open_claims = []
    return cells


def test_every_claim_is_settled_by_an_assertion():
    silent = [claim for claim, source in settling_cells().items() if "assert" not in source]
    assert not silent


def test_the_page_lists_every_claim_once_and_nothing_else():
    listed = LINK.findall((ROOT / "book" / "claims.md").read_text())
    assert len(listed) == len(set(listed))
    assert set(listed) == settling_cells().keys()


def test_there_are_claims():
    assert len(settling_cells()) >= 40
