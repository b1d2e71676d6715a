"""A mistake that was noticed is planted again when it, its file or its tests have changed."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tools import ROOT
from tools.check import mutate, noticed
from tools.check.mutant import Mutant, Project

LIBRARY = '"""Doubles."""\n\n\ndef double(x):\n    """Twice x."""\n    return 2 * x\n'
TEST = """from mhsa_lib.numbers import double
from tests.helpers.three import THREE


def test_it_doubles():
    assert double(THREE) == 6
"""
TRIPLE = Mutant("triple", "numbers.double", "2 * x", "3 * x", "numbers")


@pytest.fixture
def project(tmp_path):
    """A library of one function with one test, its helper and its conftests."""
    texts = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        'addopts = "--import-mode=importlib"\n',
        "mhsa_lib/__init__.py": "",
        "mhsa_lib/numbers.py": LIBRARY,
        "mhsa_lib/another.py": "",
        "tests/conftest.py": "from hypothesis import settings\n"
        'settings.register_profile("mutants", settings.get_profile("default"))\n',
        "tests/test_numbers.py": TEST,
        "tests/test_another.py": "",
        "tests/helpers/three.py": "from tests.helpers.one import ONE\n\nTHREE = ONE + 2\n",
        "tests/helpers/one.py": "ONE = 1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def fingerprint(project, mutant=TRIPLE):
    return noticed.fingerprints([mutant], Project(project))[mutant.name]


@pytest.mark.parametrize(
    "file",
    [
        "mhsa_lib/numbers.py",
        "tests/test_numbers.py",
        "tests/helpers/three.py",
        "tests/helpers/one.py",
        "tests/conftest.py",
    ],
)
def test_what_it_is_planted_in_and_what_notices_it_are_part_of_it(project, file):
    before = fingerprint(project)
    with (project / file).open("a", encoding="utf-8") as there:
        there.write("\nmore = 1\n")
    assert fingerprint(project) != before


@pytest.mark.parametrize("file", ["mhsa_lib/another.py", "tests/test_another.py"])
def test_other_files_are_not(project, file):
    before = fingerprint(project)
    (project / file).write_text("more = 1\n", encoding="utf-8")
    assert fingerprint(project) == before


def test_the_edit_and_its_tests_are_part_of_it(project):
    changes = {"old": "x", "new": "4 * x", "tests": "numbers another"}
    others = [replace(TRIPLE, **{name: value}) for name, value in changes.items()]
    assert len({fingerprint(project, mutant) for mutant in [TRIPLE, *others]}) == 4


def test_comments_blank_lines_and_docstrings_are_not(project):
    before = fingerprint(project)
    text = '# A comment.\ndef double(x):\n\n    "Two times x."\n    return 2 * x  # even\n'
    (project / "mhsa_lib" / "numbers.py").write_text(text, encoding="utf-8")
    assert fingerprint(project) == before


def test_a_string_that_is_no_docstring_is(project):
    before = fingerprint(project)
    (project / "mhsa_lib" / "numbers.py").write_text(f'{LIBRARY}"odd"\n', encoding="utf-8")
    assert fingerprint(project) != before


def test_where_files_are_is_not(project):
    before = fingerprint(project)
    (project / "mhsa_book").mkdir()
    (project / "mhsa_lib" / "numbers.py").rename(project / "mhsa_book" / "numbers.py")
    (project / "tests" / "mhsa_book").mkdir()
    (project / "tests" / "test_numbers.py").rename(
        project / "tests" / "mhsa_book" / "test_numbers.py"
    )
    assert fingerprint(project) == before


def test_every_mistake_that_was_noticed_is_still_planted():
    from tools.check.mutants import MUTANTS

    assert set(noticed.read()) <= {mutant.name for mutant in MUTANTS}


# --- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "n"), [([], 0), (["--all"], 1), (["trip"], 1)])
def test_one_that_is_known_is_chosen_by_its_name_or_with_all(words, n):
    assert len(mutate.choose(words, [TRIPLE], {TRIPLE.name})) == n


def test_one_run_tries_sixty_and_says_how_many_wait(capsys):
    many = [replace(TRIPLE, name=f"triple {i}") for i in range(mutate.MOST + 7)]
    assert len(mutate.choose([], many, set())) == mutate.MOST == 60
    assert "7 wait for the weekly run" in capsys.readouterr().out
    assert len(mutate.choose(["--all"], many, set())) == len(many)
    assert "wait" not in capsys.readouterr().out


def test_a_name_that_nobody_has_is_an_error():
    with pytest.raises(SystemExit, match="No mistake has quadruple in its name"):
        mutate.choose(["quadruple"], [TRIPLE], set())


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_who_asks_for_help_gets_the_usage_and_nothing_is_planted(word, tmp_path, capsys):
    assert mutate.main(word, mutants=[TRIPLE], file=tmp_path / "noticed.json") == 0
    said = capsys.readouterr().out
    assert "python tools/check/mutate.py --all" in said
    assert "run:" not in said
    assert not (tmp_path / "noticed.json").exists()


COMMAND = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tools.check import mutate
from tools.check.mutant import Mutant
here = mutate.ROOT = Path(sys.argv[2])
library = here / "mhsa_lib" / "numbers.py"
triple = Mutant("triple", "double", "2 * x", "3 * x", "numbers")
same = Mutant("the same", "double", "2 * x", "x * 2", "numbers")

def tried(title, *mutants, words=()):
    print("--", title)
    print("exit", int(mutate.main(*words, mutants=list(mutants), file=here / "noticed.json")))

tried("new", triple, same)
tried("unchanged", triple, same)
library.write_text(library.read_text() + "more = 1\\n")
tried("changed", triple)
tried("gone", same, words=["--all"])
tests = here / "tests" / "mhsa_book" / "test_sums.py"
tests.parent.mkdir()
tests.write_text("import inspect\\nfrom mhsa_book.sums import add\\n"
    "def test_it_adds():\\n    assert add(1, 2) == 3\\n")
sums = here / "mhsa_book" / "sums.py"
sums.parent.mkdir()
(sums.parent / "__init__.py").write_text("")
sums.write_text("def add(x, y):\\n    return (x + y)\\n")
minus = Mutant("minus", "sums.add", "x + y", "x - y", "sums")
tried("another package", minus)
tests.write_text(tests.read_text() + "    assert '(x + y)' in inspect.getsource(add)\\n")
tried("formatting", minus)
"""


def test_the_command_plants_what_changed_and_never_remembers_a_survivor(project):
    """One process for all, because torch is imported before a mistake is planted."""
    command = [sys.executable, "-c", COMMAND, ROOT, project]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert "The tests fail without any mistake" in done.stderr
    said = {title: rest for title, _, rest in map(parted, done.stdout.split("-- ")[1:])}
    assert "2 known, 2 changed, run: 2" in said["new"]
    assert "the same: SURVIVED" in said["new"]
    assert "exit 1" in said["new"]
    assert "2 known, 1 changed, run: 1" in said["unchanged"]
    assert "triple" not in said["unchanged"]
    assert "1 known, 1 changed, run: 1" in said["changed"]
    assert "exit 0" in said["changed"]
    assert "1 known, 1 changed, run: 1" in said["gone"]
    assert "1 of 1 mistakes noticed" in said["another package"]
    assert "exit" not in said["formatting"]
    assert list(noticed.read(project / "noticed.json")) == ["minus"]
    here = (project / "mhsa_lib" / "numbers.py").read_text(encoding="utf-8")
    assert here == f"{LIBRARY}more = 1\n"  # copies are links, and planting left this one alone


def parted(text):
    return text.partition("\n")
