"""The twin in HTML: its still picture in words, its tokens as data, and its limit."""

import torch

from mhsa_book.widgets import HeadExplorer
from mhsa_book.widgets.head_explorer import head_explorer
from tests.mhsa_book.widgets.head_explorer.random_heads import WILD, explorer, weights


def test_the_alt_text_says_what_the_still_picture_shows():
    w = torch.tensor([[0.9, 0.1], [0.25, 0.75]]).expand(2, 1, 2, 2)
    figure = HeadExplorer(w, ["<b>", "saw"], layer=1)
    assert figure.alt == (
        "Heat map of layer 1, head 0, 2 queries by 2 keys. "
        "Its largest weight is 0.90, from <b> to <b>."
    )
    assert 'alt="Heat map of layer 1' in figure.html()
    assert "from <b>" not in figure.html()


def test_the_still_picture_is_that_of_the_chosen_head():
    same, other = explorer(layer=1, head=2), explorer(layer=1, head=3)
    assert head_explorer.png(same.still) == head_explorer.png(explorer(layer=1, head=2).still)
    assert head_explorer.png(same.still) != head_explorer.png(other.still)


def test_markup_in_tokens_stays_data_in_the_html():
    html = HeadExplorer(weights(2, 13, 13), WILD).html()
    assert "<img src=x" not in html
    assert "alert(2)</script>" not in html
    html.encode()  # half a character does not stop a page from being written


def test_what_a_page_cannot_carry_is_a_still_picture_that_says_the_repair():
    tokens = ["<i>"] * 40
    html = HeadExplorer(weights(6, 12, 40, 40), tokens, layer=2).html()
    assert "6 × 12 heads of 40 × 40 weights are 307,203 bytes" in html
    assert "a page carries 200,000 for one figure" in html
    assert "weights[2:3], or at most 32 tokens" in html
    assert 'src="data:image/png' in html
    assert "data-mhsa-figure" not in html
    assert "<i>" not in html
    assert "data-mhsa-figure" in HeadExplorer(weights(6, 12, 32, 32), tokens[:32]).html()
