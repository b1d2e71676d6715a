"""The list of planted mistakes stays true to the library; ``tools/mutate.py`` runs it."""

from pathlib import Path

from tools.mutants import MUTANTS

ROOT = Path(__file__).parent.parent


def source(mutant) -> str:
    return (ROOT / "mhsa_lib" / mutant.file).read_text()


def test_there_are_many_and_no_two_are_alike():
    assert len(MUTANTS) >= 35
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(m.file, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


def test_the_text_to_replace_is_there_exactly_once():
    assert [m.name for m in MUTANTS if source(m).count(m.old) != 1] == []


def test_the_mistake_changes_the_file_and_leaves_it_python():
    for mutant in MUTANTS:
        planted = source(mutant).replace(mutant.old, mutant.new)
        assert planted != source(mutant), mutant.name
        compile(planted, mutant.name, "exec")


def test_the_tests_that_have_to_notice_it_exist():
    named = {name for mutant in MUTANTS for name in mutant.tests.split()}
    assert [n for n in named if not (ROOT / "tests" / f"test_{n}.py").exists()] == []
    assert all(mutant.tests for mutant in MUTANTS)
