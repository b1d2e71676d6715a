"""What changed asks for its own tests, and something is always run."""

import pytest

from tools import ROOT
from tools.check import related


@pytest.mark.parametrize(
    ("changed", "run"),
    [
        ("mhsa_book/naive.py", ["mhsa_book/naive.py", "tests/mhsa_book/test_naive.py"]),
        ("mhsa_lib/masks/__init__.py", ["mhsa_lib/masks/__init__.py", "tests/mhsa_lib/masks"]),
        ("mhsa_lib/shapes.py", ["mhsa_lib/shapes.py", "tests/mhsa_lib/test_shapes.py"]),
        ("mhsa_lib/attention.py", ["mhsa_lib/attention.py", "tests/mhsa_lib/attention"]),
        (
            "mhsa_lib/rope/rotary.py",
            [
                "mhsa_lib/rope/rotary.py",
                "tests/mhsa_lib/rope/test_rotary.py",
                "tests/mhsa_lib/rope/test_rotary_split.py",
            ],
        ),
        ("mhsa_book/widgets/shared/kit.js", ["tests/mhsa_book/widgets"]),
        ("tests/mhsa_lib/test_stages.py", ["tests/mhsa_lib/test_stages.py"]),
        ("tests/mhsa_lib/variants/entry.py", ["tests/mhsa_lib/variants"]),
        ("tests/conftest.py", []),
        ("notebooks/03_project.ipynb", ["tests/notebooks"]),
        ("tools/check/audit.py", ["tests/tools"]),
        ("README.md", ["tests/test_readme.py"]),
        ("mhsa_lib/gone/for_good.py", []),
    ],
)
def test_a_file_asks_for_the_tests_of_its_name_or_of_its_room(changed, run):
    assert related.asked_for(changed) == run


def test_the_core_is_run_whatever_has_changed():
    assert related.chosen([]) == sorted(related.CORE)
    assert all((ROOT / name.partition("::")[0]).exists() for name in related.CORE)


@pytest.mark.parametrize("name", ["mhsa_lib/shapes.py", "mhsa_lib/gone/for_good.py"])
def test_a_change_of_the_library_asks_whether_it_stays_small(name):
    assert related.BOUNDS in related.chosen(["README.md", name])
    assert (ROOT / related.BOUNDS).exists()


def test_a_change_elsewhere_does_not():
    assert related.BOUNDS not in related.chosen(["mhsa_book/naive.py", "README.md"])


def test_what_needs_a_built_book_is_left_to_others():
    assert related.chosen(["book/intro.md"]) == sorted(related.CORE)


def test_a_folder_of_the_package_comes_before_one_of_all(tmp_path):
    for name in ("mhsa_book/plots/heat.py", "tests/mhsa_book/plots/test_heat.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    asked = related.asked_for("mhsa_book/plots/heat.py", tmp_path)
    assert asked == ["mhsa_book/plots/heat.py", "tests/mhsa_book/plots/test_heat.py"]


@pytest.mark.parametrize(("tests", "reasons", "code"), [(0, [], 0), (0, ["it changed"], 1)])
def test_it_fails_and_names_what_is_stale(tests, reasons, code, monkeypatch, capsys):
    monkeypatch.setattr(related.subprocess, "call", lambda *_, **__: tests)
    old, *_ = related.notebooks()
    monkeypatch.setattr(related, "notebooks", lambda: [old])
    monkeypatch.setattr(related, "why_stale", lambda nb: reasons[0] if reasons else None)
    assert related.main("README.md") == code
    said = capsys.readouterr().out
    assert (f"{old.stem}: it changed" in said) == bool(reasons)
    assert ("STALE: 1 notebooks; run `make notebooks`." in said) == bool(reasons)


def test_it_says_what_it_runs_and_fails_as_pytest_does(monkeypatch, capsys):
    monkeypatch.setattr(related, "stale", list)
    calls = []
    monkeypatch.setattr(
        related.subprocess, "call", lambda command, **_: calls.append(command) or 1
    )
    assert related.main("mhsa_book/naive.py") == 1
    said = capsys.readouterr().out
    assert "mhsa_book/naive.py" in said
    assert "tests/mhsa_book/test_naive.py" in calls[0]
    assert set(related.CORE) < set(calls[0])
