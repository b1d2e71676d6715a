"""The list of planted mistakes stays true to the library; ``tools/mutate.py`` runs it."""

from pathlib import Path

import pytest

from tools.mutants import MUTANTS

ROOT = Path(__file__).parent.parent
names = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


def test_there_are_many_and_no_two_are_alike():
    assert len(MUTANTS) >= 35
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(m.file, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


@names
def test_the_text_to_replace_is_there_exactly_once(mutant):
    assert (ROOT / "mhsa_lib" / mutant.file).read_text().count(mutant.old) == 1


@names
def test_the_mistake_changes_the_file_and_leaves_it_python(mutant):
    assert mutant.old != mutant.new
    text = (ROOT / "mhsa_lib" / mutant.file).read_text()
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")


@names
def test_the_tests_that_have_to_notice_it_exist(mutant):
    assert mutant.tests
    assert all((ROOT / "tests" / f"test_{name}.py").exists() for name in mutant.tests.split())
