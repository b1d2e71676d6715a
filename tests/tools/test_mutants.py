"""Planted mistakes are found by name, and each can be planted; ``mutate`` runs them."""

from dataclasses import replace

import pytest

from mhsa_book import museum
from tools import ROOT
from tools.check.mutant import Mutant, Project
from tools.check.mutants import MUTANTS

PROJECT = Project(ROOT)


def wrong(check) -> list[str]:
    """What a check says of the mistakes that it refuses."""
    said = []
    for mutant in MUTANTS:
        try:
            check(mutant)
        except LookupError as error:
            said.append(f"{mutant.name}: {error}")
    return said


def test_there_are_many_and_no_two_are_alike():
    assert len(MUTANTS) >= 100
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(m.where, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


def test_each_finds_its_definition_and_its_tests():
    assert wrong(lambda mutant: PROJECT.find(mutant.where)) == []
    assert wrong(PROJECT.tests) == []
    assert all(map(PROJECT.tests, MUTANTS))


def test_each_changes_its_module_and_leaves_it_python():
    def plant(mutant):
        ((file, text),) = PROJECT.planted(mutant).items()
        assert text != PROJECT.untouched([mutant])[file], mutant.name
        compile(text, mutant.name, "exec")

    assert wrong(plant) == []


def test_those_that_the_museum_shows_too_say_so(capsys):
    shown = {each.name for each in museum.exhibits()}
    planted = {mutant.exhibit for mutant in MUTANTS} - {""}
    assert planted <= shown
    with capsys.disabled():
        print(f"\n{len(planted)} of {len(shown)} exhibits are planted in the library as well")
    assert len(planted) >= 20


# --- by name ----------------------------------------------------------------------------------

ATTEND = '''
import torch


class Attend:
    """Look."""

    def look(self, scores, mask):
        def hidden(x):  # inside of a method
            return x * mask

        return torch.softmax(
            hidden(scores),  # under the mask
            dim=-1,
        )


def softmax(scores):
    x = scores - scores.amax()
    return x.exp() / x.exp().sum()
'''
WHOLE = "torch.softmax(hidden(scores), dim=-1)"
AXIS = Mutant("axis", "look", WHOLE, WHOLE.replace("-1", "-2"), "stages")


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "mhsa_lib/stages.py": ATTEND,
        "mhsa_book/naive/loops.py": "def softmax(scores):\n    return scores\n",
        "tests/test_stages.py": "",
        "tests/mhsa_lib/cache/test_parts.py": "",
        "tests/mhsa_lib/variants/test_stages.py": "",
        "tests/mhsa_book/cache/test_parts.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def planted(folder, mutant):
    ((file, text),) = Project(folder).planted(mutant).items()
    return file.relative_to(folder).as_posix(), text


def test_lines_and_comments_do_not_matter_and_the_rest_of_the_module_stays(folder):
    name, text = planted(folder, AXIS)
    assert name == "mhsa_lib/stages.py"
    assert "        return torch.softmax(hidden(scores), dim=-2)\n" in text
    assert text.partition("    def look")[0] == ATTEND.partition("    def look")[0]
    assert text.endswith("\n\n" + ATTEND[ATTEND.index("\ndef softmax") :])


@pytest.mark.parametrize(
    ("where", "old", "new", "line"),
    [
        ("Attend.look.hidden", "x * mask", "x", "            return x\n"),
        ("stages.softmax", "x = scores - scores.amax()", "x = scores", "    x = scores\n"),
        ("loops.softmax", "return scores", "pass", "    pass\n"),
        ("naive.loops.softmax", "scores", "-scores", "    return -scores\n"),
    ],
)
def test_an_edit_is_of_an_expression_or_of_statements(folder, where, old, new, line):
    mutant = Mutant("", where, old, new, "stages")
    assert line in planted(folder, mutant)[1]


def test_several_statements_may_become_one(folder):
    old = "x = scores - scores.amax()\nreturn x.exp() / x.exp().sum()"
    mutant = Mutant("", "stages.softmax", old, "return scores", "stages")
    assert planted(folder, mutant)[1].endswith("def softmax(scores):\n    return scores\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"where": "Attend.see"},
            "Attend.see is no function, method or class of mhsa_lib or mh",
        ),
        ({"where": "Attend.lok"}, "Near it: mhsa_lib.stages.Attend.look"),
        ({"where": "softmax"}, "mhsa_lib.stages.softmax and of mhsa_book.naive.loops.softmax"),
        ({"where": "ook"}, "ook is no function"),
        ({"old": "mask"}, "axis: look: 'mask' is 2× in there"),
        ({"old": "dim=-1"}, "'dim=-1' is 0× in there"),  # an argument is no expression
        ({"old": "torch.relu(scores)"}, r"'torch.relu\(scores\)' is 0× in there"),
    ],
)
def test_what_cannot_be_planted_says_why(folder, change, words):
    folder.joinpath("mhsa_lib/stages.py").write_text(
        ATTEND.replace("return x * mask", "return x * mask + mask"), encoding="utf-8"
    )
    with pytest.raises(LookupError, match=words):
        Project(folder).planted(replace(AXIS, **change))


def test_a_project_may_have_one_package(folder):
    (folder / "mhsa_book").rename(folder / "elsewhere")
    project = Project(folder)
    assert project.packages == ["mhsa_lib"]
    assert project.find("softmax") == (folder / "mhsa_lib" / "stages.py", "softmax")


def test_tests_are_found_by_the_end_of_their_path(folder):
    project = Project(folder)
    assert project.test_file("stages") == folder / "tests" / "test_stages.py"
    assert project.test_file("variants/stages").parent.name == "variants"
    assert project.test_file("mhsa_book/cache/parts").parts[-3:-1] == ("mhsa_book", "cache")
    both = "may be tests/mhsa_book/cache/test_parts.py or tests/mhsa_lib/cache/test_parts.py"
    with pytest.raises(LookupError, match=both):
        project.test_file("cache/parts")
    with pytest.raises(LookupError, match="cache/whole is no test file"):
        project.test_file("cache/whole")
