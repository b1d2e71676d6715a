"""Heads as points, some of them with their names beside them."""

import pytest

from mhsa_book.plots.points import points
from tests.mhsa_book.plots.figure import drawn

HEADS = {"L0H0": (0.1, 2.0), "L0H1": (0.9, -1.0), "L1H0": (0.5, 0.0)}


def test_every_head_is_a_point_and_those_that_are_named_have_their_names_beside_them():
    points({"to the right": (HEADS, ["L0H1", "L0H0"]), "to him": (HEADS, [])}, "writes")
    left, right = drawn().axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("to the right", "to him")
    assert (left.get_ylabel(), right.get_ylabel()) == ("writes", "")
    assert left.collections[0].get_offsets().tolist() == [[0.5, 0.0]]
    assert sorted(map(tuple, right.collections[0].get_offsets())) == sorted(HEADS.values())
    named = {text.get_text(): text for text in left.texts}
    assert {name: text.xy for name, text in named.items()} == {
        name: HEADS[name] for name in ("L0H0", "L0H1")
    }
    assert [named[n].get_ha() for n in ("L0H0", "L0H1")] == ["left", "right"]
    large = [tuple(line.get_xydata()[0]) for line in left.lines if line.get_marker() == "o"]
    assert sorted(large) == sorted([HEADS["L0H0"], HEADS["L0H1"]])
    inside = left.get_window_extent()
    for text in named.values():
        box = text.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1


@pytest.mark.parametrize("panels", [{}, {"weight": (HEADS, ["L9H9"])}])
def test_nothing_to_draw_and_a_name_without_a_point_are_refused(panels):
    with pytest.raises(ValueError, match=r"nothing to draw|L9H9"):
        points(panels, "writes")
