"""A file can be read in one sitting."""

from pathlib import Path

from tests.architecture.library import ROOT, TEXTS

FOLDERS = ("mhsa_book/widgets", "tests/mhsa_book/widgets", "_static")
SCRIPTS = sorted(s for f in FOLDERS for s in (ROOT.parent / f).rglob("*.*js"))


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def test_a_file_can_be_read_in_one_sitting():
    assert [file for file in TEXTS if len(lines(file)) > 250] == []


def test_a_script_fits_on_two_screens_and_their_width():
    assert [file for file in SCRIPTS if len(lines(file)) > 150] == []
    assert [file for file in SCRIPTS if max(map(len, lines(file))) > 100] == []
