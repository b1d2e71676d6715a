"""The poster: every number is the trace's, text is text, and the sheet says that it is free."""

from collections import Counter
from xml.etree import ElementTree as ET

import pytest
import torch

from mhsa_book import examples
from tools.build import card, links, poster
from tools.build.poster_sheet import numeral

SVG = "{http://www.w3.org/2000/svg}"
SHEETS = {
    f"{draw.__name__}{suffix}": (draw, theme)
    for draw in (poster.a3, poster.phone)
    for suffix, theme in poster.THEMES.items()
}


def shapes(name):
    draw, theme = SHEETS[name]
    return ET.fromstring(draw(theme))


def expected():
    """Every number that the poster may take, by the place that it names, from a new trace."""
    with torch.no_grad():
        wires = examples.running()
    tables = {wire: wires[wire] for wire in wires} | {"x": examples.sentences()}
    z, W = wires["z"][0, :, 6], examples.attention().W_O.weight.T.detach()
    parts = torch.stack([z[h] @ W[4 * h : 4 * (h + 1)] for h in range(3)])
    tables |= {"part": parts, "without": (parts[1] + parts[2])[None]}
    return tables


@pytest.mark.parametrize("name", SHEETS)
def test_every_number_is_that_of_the_trace(name):
    tables, seen = expected(), Counter()
    for text in shapes(name).iter(f"{SVG}text"):
        if place := text.get("data-place"):
            wire, *at = place.split()
            value = tables[wire][tuple(map(int, at))]
            assert float(text.text.replace("−", "-")) == pytest.approx(
                float(value), abs=0.00501
            )
            seen[wire] += 1
        else:  # numbers stand nowhere else, but in a shape or a sentence
            assert not text.text.replace("−", "").replace(".", "").isdigit()
    square = {"scores": 49, "weights": 49, "z": 28, "x": 84, "concat": 12}
    of_heads = {"q_heads": 28, "k_heads": 28, "v_heads": 28}
    assert seen == {**square, **of_heads, "part": 24, "y": 8, "without": 8}


@pytest.mark.parametrize("name", SHEETS)
def test_it_stands_alone_and_says_who_may_use_it(name):
    root = shapes(name)
    words = " ".join(text.text for text in root.iter(f"{SVG}text"))
    assert "CC BY 4.0" in words
    assert links.site() in words
    assert {stage for stage in ("project", "split", "attend", "concat", "W_O")} <= set(
        words.replace(",", "").split()
    )
    assert all(head in words for head in examples.HEADS)
    assert root.find(f"{SVG}title").text == poster.TITLE
    used = {shape.tag.removeprefix(SVG) for shape in root.iter()}
    assert used == {"svg", "title", "desc", "g", "rect", "path", "text"}
    attributes = {key for shape in root.iter() for key in shape.attrib}
    assert not attributes & {"href", "src", "style", "class"}


def test_a3_has_the_shape_of_the_paper_and_a_phone_is_as_wide_as_one():
    paper, narrow = shapes("a3"), shapes("phone")
    _, _, width, height = map(float, paper.get("viewBox").split())
    assert width / height == pytest.approx(420 / 297)
    assert (paper.get("width"), paper.get("height")) == ("420mm", "297mm")
    assert narrow.get("viewBox").split()[2] == narrow.get("width") == "390"


def test_light_and_dark_differ_in_colours_only():
    for draw in ("a3", "phone"):
        light, dark = shapes(draw), shapes(f"{draw}-dark")
        texts = [[shape.text for shape in sheet.iter()] for sheet in (light, dark)]
        assert texts[0] == texts[1]
        paper = [sheet.find(f"{SVG}rect").get("fill") for sheet in (light, dark)]
        assert paper[0] != paper[1]


def test_numbers_keep_two_decimals_or_none():
    assert [numeral(v) for v in (0.9979, -9.0, -0.0001, 0.00033)] == [
        "1.00",
        "−9",
        "0.00",
        "0.00",
    ]


def test_all_sheets_are_written_and_the_card_is_as_large_as_it_says(tmp_path, monkeypatch):
    names = poster.write(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    assert len(names) == 4
    monkeypatch.setattr(card, "FOLDER", tmp_path)
    card.main()
    header = (tmp_path / card.NAME).read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == card.SIZE
