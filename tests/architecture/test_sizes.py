"""A file can be read in one sitting."""

from pathlib import Path

import pytest

from tests.architecture.library import ROOT, TEXTS, TREE

FOLDERS = ("mhsa_lib/widgets", "tests/widgets", "_static")
SCRIPTS = sorted(s for f in FOLDERS for s in (ROOT.parent / f).rglob("*.*js"))


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(TREE)))
def test_a_file_can_be_read_in_one_sitting(file):
    assert len(lines(file)) <= 250


@pytest.mark.parametrize("file", SCRIPTS, ids=str)
def test_a_script_fits_on_two_screens_and_their_width(file):
    assert len(lines(file)) <= 150
    assert max(map(len, lines(file))) <= 100
