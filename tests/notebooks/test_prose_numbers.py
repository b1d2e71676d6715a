"""A number in the prose of Parts III to V is shown on its page, or listed with a reason.

Outputs are compared by the notebooks' own tests, and code runs, so a number that one of them
has is compared with something. What is left is quoted from a source, or was computed elsewhere:
`numbers_elsewhere.yml` says which, and holds nothing that the prose does not say.
"""

import re
from pathlib import Path

import pytest
import yaml

from tests.notebooks.conftest import read
from tools.build.notebooks import notebooks, tags

ELSEWHERE = yaml.safe_load(
    (Path(__file__).parent / "numbers_elsewhere.yml").read_text(encoding="utf-8")
)
CHAPTERS = {p.stem: p for p in notebooks() if p.stem[:2].isdigit() and p.stem[:2] >= "10"}
SMALL = 20
"""Whole numbers up to here are counted by the reader: heads, tokens, layers, steps."""

IN_PROSE = re.compile(
    r"(?<![\w.,/#\-–])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w/]|[.,]\d|-[a-z])"
)
ANYWHERE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")
LEFT_OUT = [
    (r"```.*?```", re.DOTALL),
    (r"\{[a-z:]+\}`[^`]*`", 0),  # references
    (r"`[^`]*`", 0),
    (r"\$\$.*?\$\$|\$[^$\n]*\$", re.DOTALL),
    (r"\]\([^)]*\)", 0),  # addresses
    (r"^(?::|\(claim-).*$", re.MULTILINE),
    (r"^## Sources.*", re.DOTALL | re.MULTILINE),
    (r"^# .*$", re.MULTILINE),
]


def value(written):
    return float(written.replace(",", "").replace("_", ""))


def said(source):
    """Numbers of a cell of prose that somebody could be wrong about."""
    for pattern, flags in LEFT_OUT:
        source = re.sub(pattern, " ", source, flags=flags)
    for found in IN_PROSE.findall(source):
        year = re.fullmatch(r"(?:19|20)\d\d", found)
        if not year and ("." in found or value(found) > SMALL):
            yield found


def shown(notebook):
    """Values that code or a compared output of the page has; a time is another in each run."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts.append(cell.source)
            for out in [] if "nbval-ignore-output" in tags(cell) else cell.outputs:
                texts.append(out.get("text", ""))
                texts.append(out.get("data", {}).get("text/plain", ""))
    return {value(found) for text in texts for found in ANYWHERE.findall(text) if found}


def is_shown(written, values):
    """Rounded as it is written, and as a share, in per cent, or in another power of 1,000."""
    wanted, digits = value(written), len(written.partition(".")[2])
    rounding = 0.5001 * 10.0**-digits if digits else 0.5001
    scales = (1, 100, 0.01, *(1000.0**power for power in (-4, -3, -2, -1, 1, 2, 3)))
    for known in values:
        for scale in scales:
            far = abs(known * scale - wanted)
            if far <= rounding and far <= 0.06 * abs(wanted):
                return True
    return False


def listed(stem):
    number = re.match(r"\d\d[a-z]?", stem)[0]
    return {
        str(n)
        for chapters in ELSEWHERE.values()
        for chapter, numbers in chapters.items()
        if str(chapter) == number
        for n in numbers
    }


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_number_in_prose_is_shown_or_listed_with_its_reason(stem):
    notebook = read(CHAPTERS[stem])
    values = shown(notebook)
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    lost = {
        number: cell.id
        for cell in prose
        for number in said(cell.source)
        if not is_shown(number, values)
    }
    assert {n: cell for n, cell in lost.items() if n not in listed(stem)} == {}
    assert listed(stem) - set(lost) == set(), "listed, and not said or shown now"


def test_a_wrong_number_is_found():
    assert list(said("It is 0.84 with 72 heads, in 2024, of 12.")) == ["0.84", "72"]
    assert is_shown("0.84", {0.8362})
    assert is_shown("84", {0.8362})
    assert is_shown("8.4", {8_360_000.0})
    assert not is_shown("0.84", {0.8455, 0.83})
    assert not is_shown("0.85", {0.8362})
