"""BertViz draws in a browser, and readers can choose layers and heads."""

import pytest
import torch

from mhsa_book import bertviz
from mhsa_book.bertviz.views import head_view, model_view
from tests.mhsa_book.bertviz.frames import NASTY, drawn, drawn_neurons, views, weights

pytest.importorskip("bertviz")


@pytest.mark.parametrize("theme", ["light", "dark"])
@views
def test_it_draws_in_a_browser_with_nothing_but_the_vendored_libraries(open_page, view, theme):
    n = len(NASTY)
    page = open_page(view(weights(n), NASTY)._repr_html_(), theme)
    frame = drawn(page)
    lines = {head_view: 2 * n**2, model_view: 4 * n**2, drawn_neurons: 4 * n**2 + n}
    assert frame.locator("line").count() == lines[view]
    assert frame.evaluate("window.stolen") is None
    assert page.evaluate("window.stolen") is None
    assert (
        frame.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.wrong == []


def test_readers_can_choose_another_layer_and_switch_heads_off(open_page):
    w = torch.stack([torch.eye(3), torch.eye(3).roll(1, 1)]).unsqueeze(1).expand(2, 2, 3, 3)
    page = open_page(head_view(w, list("abc"))._repr_html_(), "light")
    frame = drawn(page)

    def opacities():
        return frame.evaluate(
            "[...document.querySelectorAll('line')].map(l => +l.getAttribute('stroke-opacity'))"
        )

    assert opacities()[:9] == [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5]
    frame.get_by_label("Layer").select_option("1")
    assert opacities()[:9] == [0, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0]
    frame.locator("rect[width='20']").first.click()
    assert opacities()[:9] == [0] * 9
    assert opacities()[9:] == [0, 1, 0, 0, 0, 1, 1, 0, 0]


def test_a_click_in_the_model_view_shows_a_head_with_its_tokens(open_page):
    page = open_page(model_view(weights(), ["one", "two", "six"])._repr_html_(), "light")
    frame = drawn(page)
    frame.locator("rect[style*='opacity: 0']").first.click()
    assert "Layer 0, Head 0" in frame.locator("text.detail").all_text_contents()[0]
    assert frame.locator("text.token").all_text_contents() == ["one", "two", "six"] * 2


def test_without_any_library_the_frame_says_so(open_page):
    page = open_page(
        head_view(weights(), list("abc"), libraries="../nowhere")._repr_html_(), "light"
    )
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("p")
    assert "did not load from ../nowhere" in frame.locator("p").inner_text()


def test_where_the_first_address_is_silent_the_second_answers(open_page):
    view = head_view(weights(), list("abc"), libraries=["../nowhere", "../vendor"])
    page = open_page(view._repr_html_(), "light")
    frame = drawn(page)
    assert frame.locator("line").count() == 18
    assert bertviz.LIBRARIES[0] == "../vendor"
