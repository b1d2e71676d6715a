"""The list of planted mistakes stays true to the library; ``tools/check/mutate.py`` runs it."""

import shutil
import subprocess
from pathlib import Path

from mhsa_book import museum
from tools.check.mutant import test_file as file_of_tests
from tools.check.mutants import MUTANTS

ROOT = Path(__file__).parents[2]


def source(mutant) -> str:
    return (ROOT / "mhsa_lib" / mutant.file).read_text(encoding="utf-8")


def test_there_are_many_and_no_two_are_alike():
    assert len(MUTANTS) >= 35
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(m.file, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


def test_the_text_to_replace_is_there_exactly_once():
    assert [m.name for m in MUTANTS if source(m).count(m.old) != 1] == []


def test_the_mistake_changes_the_file_and_leaves_it_python_or_javascript(tmp_path):
    for i, mutant in enumerate(MUTANTS):
        planted = source(mutant).replace(mutant.old, mutant.new)
        assert planted != source(mutant), mutant.name
        if mutant.file.endswith(".py"):
            compile(planted, mutant.name, "exec")
        else:
            (tmp_path / f"{i}.mjs").write_text(planted, encoding="utf-8")
    scripts = sorted(map(str, tmp_path.iterdir()))
    if scripts and (node := shutil.which("node")):
        parse = "const {readFileSync} = require('fs'), {SourceTextModule} = require('vm');"
        parse += "for (const identifier of process.argv.slice(1))"
        parse += " new SourceTextModule(readFileSync(identifier, 'utf8'), {identifier});"
        options = ["--no-warnings", "--experimental-vm-modules", "-e", parse]
        subprocess.run([node, *options, *scripts], check=True)


def test_the_tests_that_have_to_notice_it_exist():
    named = {name for mutant in MUTANTS for name in mutant.tests.split()}
    assert [n for n in named if not (ROOT / file_of_tests(n)).exists()] == []
    assert all(mutant.tests for mutant in MUTANTS)


def test_those_that_the_museum_shows_too_say_so(capsys):
    shown = {each.name for each in museum.exhibits()}
    planted = {mutant.exhibit for mutant in MUTANTS} - {""}
    assert planted <= shown
    with capsys.disabled():
        print(f"\n{len(planted)} of {len(shown)} exhibits are planted in the library as well")
    assert len(planted) >= 20
