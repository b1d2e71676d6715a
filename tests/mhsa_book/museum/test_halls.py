"""The printed halls: every exhibit once, beside the right attention of its own setting."""

import pytest

from mhsa_book import museum
from mhsa_book.museum.halls import hall
from mhsa_book.museum.measured import effect


def test_every_exhibit_of_a_symptom_is_printed_once(capsys):
    for symptom in museum.SYMPTOMS:
        hall(symptom)
        lines = capsys.readouterr().out.splitlines()[1:]
        names = [line.split()[0] for line in lines if not line.endswith(":")]
        assert sorted(names) == sorted(each.name for each in museum.exhibits(symptom=symptom))


@pytest.mark.parametrize("name", ["all_heads_normalised_together", "no_scale"])
def test_the_right_one_is_that_of_the_same_setting(name, capsys):
    exhibit = museum.exhibit(name)
    hall(exhibit.symptom)
    (line,) = [each for each in capsys.readouterr().out.splitlines() if name in each]
    found = effect(exhibit)
    for share in ("read", "written"):
        pair = f"{100 * found.mean(share):.0f} / {100 * found.mean_right(share):.0f}"
        assert pair in line


def test_variations_stand_under_the_name_of_their_mistake(capsys):
    hall("worse")
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the scale is another:")
    assert lines[start + 1].startswith("  no_scale")


def test_an_error_is_said_and_not_left_blank(capsys):
    hall("leaks")
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "mixed_with" in x]
    assert "error / 99" in line
    hall("worse")
    printed = capsys.readouterr().out
    assert printed.count("raises RuntimeError") == 2
    assert "  -" not in printed
