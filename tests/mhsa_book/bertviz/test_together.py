"""Several views on one page: what a reader does in one, no other notices."""

import pytest
import torch

from mhsa_book.bertviz import head_view, model_view, neuron_view
from tests.mhsa_book.bertviz.frames import NASTY, drawn, drawn_neurons, weights

pytest.importorskip("bertviz")


def use_heads(frame):
    frame.get_by_label("Layer").select_option("1")
    frame.locator("rect[width='20']").first.click()


def use_model(frame):
    frame.locator("rect[style*='opacity: 0']").first.click()


def use_neurons(frame):
    frame.get_by_label("Layer").select_option("1")
    frame.get_by_label("Head").select_option("1")
    expand(frame, 0)


def expand(frame, token):
    """Point at a token and press the plus sign beside it."""
    beside = frame.locator("#collapsed #leftText > g").nth(token)
    beside.locator("text").hover()
    beside.locator("rect").nth(1).click()


KINDS = [(head_view, use_heads), (model_view, use_model), (drawn_neurons, use_neurons)]


def test_two_views_of_each_kind_do_not_disturb_each_other(open_page):
    shown = [
        (view(weights(), list(three)), use) for view, use in KINDS for three in ("abc", "xyz")
    ]
    assert len({view.id for view, _ in shown}) == 6
    page = open_page("".join(view._repr_html_() for view, _ in shown))
    frames = [drawn(page, at) for at in range(6)]
    for at, (_, use) in enumerate(shown):
        before = [frame.content() + chosen(frame) for frame in frames]
        use(frames[at])
        page.mouse.move(0, 0)
        after = [frame.content() + chosen(frame) for frame in frames]
        assert [i for i in range(6) if after[i] != before[i]] == [at]
    assert page.wrong == []


def chosen(frame):
    """Return what the lists of a frame say, which is no part of its HTML."""
    return str(frame.evaluate("[...document.querySelectorAll('select')].map(s => s.value)"))


def numbers(frame, selector):
    values = "all => all.map(one => +one.dataset.value)"
    return torch.tensor(frame.eval_on_selector_all(selector, values))


def test_the_neuron_view_shows_the_numbers_of_the_tensors(open_page):
    q, k = 2 * torch.randn(2, 2, 2, 3, 5)
    view = neuron_view(q, k, list("abc"), layer=1, scale=0.3)
    frame = drawn(open_page(view._repr_html_()))
    frame.get_by_label("Head").select_option("1")
    q, k = q[1, 1], k[1, 1]
    expand(frame, 2)
    close = {"atol": 1e-3, "rtol": 0}
    inside = "#expanded #"
    torch.testing.assert_close(
        numbers(frame, inside + "queries .element").view(3, 5), q, **close
    )
    torch.testing.assert_close(numbers(frame, inside + "keys .element").view(3, 5), k, **close)
    torch.testing.assert_close(
        numbers(frame, inside + "product .element").view(3, 5), q[2] * k, **close
    )
    score = 0.3 * k @ q[2]
    torch.testing.assert_close(numbers(frame, inside + "dotproducts rect"), score, **close)
    dark = frame.eval_on_selector_all(
        inside + "rightText .highlight", "all => all.map(one => +one.style.opacity)"
    )
    torch.testing.assert_close(torch.tensor(dark), score.softmax(-1), **close)


def test_hostile_tokens_stay_words_in_the_neuron_view(open_page):
    n = len(NASTY)
    page = open_page(drawn_neurons(weights(n), NASTY)._repr_html_())
    frame = drawn(page)
    short = [token if len(token) <= 13 else token[:12] + "…" for token in NASTY]
    assert frame.locator("#collapsed #leftText text").all_text_contents() == short
    assert frame.evaluate("window.stolen") is None
    assert page.wrong == []


def test_on_a_phone_the_reader_can_scroll_to_the_softmax(open_page):
    view = drawn_neurons(weights(), list("abc"))
    frame = drawn(open_page(view._repr_html_(), width=390))
    expand(frame, 1)
    heading = frame.get_by_text("Softmax")
    assert heading.bounding_box()["x"] > 390
    frame.evaluate("scrollTo(9999, 0)")
    assert heading.bounding_box()["x"] < 390
