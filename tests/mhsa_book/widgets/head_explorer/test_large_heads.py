"""The large pictures: pointed at, walked through, with tokens hidden, and two compared."""

import re

import pytest
import torch
from playwright.sync_api import expect

from mhsa_book import measure
from mhsa_book.widgets import HeadExplorer
from mhsa_book.widgets.packed import unpacked
from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS, explorer, weights
from tests.mhsa_book.widgets.head_explorer.reader import (
    assert_shows,
    point_at,
    said,
    shown_measure,
    strongest,
    table,
)


def test_pointing_says_the_exact_weight_and_the_strongest_keys(open_figure):
    figure = explorer()
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    point_at(page, 2, 4)
    said(page, f"L0H0: “\u2068cat\u2069” gives “\u2068it\u2069” {w[2, 4]:.4f} of its weight.")
    values, places = w[2].topk(5)
    wanted = [f"{WORDS[p]}\n{v:.4f}" for v, p in zip(values, places, strict=True)]
    assert strongest(page) == wanted
    page.get_by_label("direction").select_option("key to query")
    values, places = w[:, 4].topk(5)
    assert [line.split()[1] for line in strongest(page)] == [f"{v:.4f}" for v in values]
    expect(page.locator(".mhsa-words p").first).to_have_text(
        f"Who looks at “\u2068it\u2069”? 6 queries give it {w[:, 4].sum():.2f} in all."
    )


@pytest.mark.parametrize("view", ["heat map", "lines"])
def test_arrow_keys_walk_through_the_weights(open_figure, view):
    figure = explorer(view=view, query=2, key=2)
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    grid = page.get_by_role("grid", name="layer 0, head 0")
    grid.focus()
    at = {
        "ArrowRight": (2, 3), "ArrowUp": (1, 3), "End": (1, 5), "PageDown": (5, 5),
        "ArrowDown": (5, 5), "ArrowLeft": (5, 4), "PageUp": (0, 4), "Home": (0, 0),
    }  # fmt: skip
    for key, (row, column) in at.items():
        page.keyboard.press(key)
        cell = page.locator(f"#{grid.get_attribute('aria-activedescendant')}")
        expect(cell).to_have_attribute("aria-colindex", str(column + 1))
        expect(cell).to_contain_text(f"{w[row, column]:.4f} from “\u2068{WORDS[row]}\u2069”")
    said(page, f"{w[0, 0]:.4f}")


def test_lines_are_as_wide_as_their_weights(open_figure):
    figure = explorer(view="lines", query=1, key=2)
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    strands = page.locator(".mhsa-strand")
    background = int((w >= 0.05).sum())
    expect(strands).to_have_count(background + 6)
    widths = strands.evaluate_all("all => all.map(l => Number(l.getAttribute('stroke-width')))")
    wanted = (6 * w[1]).clamp(min=0.4).tolist()
    assert widths[background:] == pytest.approx(wanted)
    box = page.get_by_role("grid").first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 22 + 24 * 4.5)
    said(page, f"“\u2068it\u2069” gives “\u2068cat\u2069” {w[4, 2]:.4f}")
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 22 + 24 * 0.5)
    said(page, f"“\u2068it\u2069” gives “\u2068[CLS]\u2069” {w[4, 0]:.4f}")


def test_hiding_tokens_shows_what_is_left(open_figure):
    figure = explorer()
    page = open_figure(figure)
    table(page)
    page.get_by_label("hide [CLS]").check()
    page.get_by_label("hide [SEP]").check()
    figure.hidden = ["[CLS]", "[SEP]"]
    assert_shows(page, figure.shown()[0])
    page.get_by_label("divide what is left").uncheck()
    figure.renormalise = False
    assert_shows(page, figure.shown()[0])
    previous = measure.at_offset(figure.shown()[0], -1)
    expect(shown_measure(page, "previous")).to_have_text(f"{previous:.2f}")
    page.locator("summary", has_text=re.compile("hide .*tokens")).click()
    for word in ("the", "cat", "saw"):
        page.get_by_label(word, exact=True).check()
    expect(page.get_by_label("it", exact=True)).to_be_disabled()  # something has to stay
    expect(page.get_by_role("alert")).to_have_text("")
    said(page, "“\u2068it\u2069” gives “\u2068it\u2069”")


def test_two_heads_side_by_side_and_their_difference(open_figure):
    figure = explorer(query=1, key=2)
    w = unpacked(figure.attention)
    page = open_figure(figure)
    page.get_by_role("button", name="Compare L0H0").click()
    expect(page.locator(".mhsa-name:visible")).to_have_count(1)
    page.get_by_role("button", name="layer 2, head 1").click()
    expect(page.locator(".mhsa-name:visible")).to_have_text(["L2H1", "L0H0", "L2H1 − L0H0"])
    alike = measure.agreement(torch.stack([w[2, 1], w[0, 0]]))[0, 1]
    said(page, f"In L0H0: {w[0, 0, 1, 2]:.4f}. Over all queries the two agree to {alike:.2f}")
    difference = page.get_by_role("grid", name="minus").locator("[role=gridcell]")
    gap = f"{(w[2, 1] - w[0, 0])[1, 2]:.4f}".replace("-", "−")
    expect(difference).to_contain_text(gap)
    previous = measure.at_offset(w, -1)
    expect(shown_measure(page, "previous")).to_have_text(
        f"{previous[2, 1]:.2f} / {previous[0, 0]:.2f}"
    )
    expect(page.get_by_role("button", name="layer 0, head 0, compared")).to_have_count(1)
    point_at(page, 3, 3, view=1)
    said(page, f"{w[2, 1, 3, 3]:.4f} of its weight. In L0H0: {w[0, 0, 3, 3]:.4f}")
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.locator(".mhsa-name:visible")).to_have_text(["L2H1"])


def test_other_keys_than_queries(open_figure):
    w = weights(1, 2, 3, 6)
    page = open_figure(HeadExplorer(w, ["ich", "sah", "es"], WORDS, query=2, key=2))
    said(page, f"“\u2068es\u2069” gives “\u2068cat\u2069” {w[0, 0, 2, 2]:.4f}")
    table(page)
    assert_shows(page, w[0, 0])
    headings = page.locator("dt").all_inner_texts()
    assert headings == ["entropy", "first", "confidence"]
    page.get_by_label("hide [CLS]").check()
    assert_shows(page, w[0, 0, :, 1:] / w[0, 0, :, 1:].sum(-1, keepdim=True))


def test_one_token_and_rows_of_zeros(open_figure):
    page = open_figure(HeadExplorer(torch.ones(2, 1, 1), ["I"]))
    said(page, "“\u2068I\u2069” gives “\u2068I\u2069” 1.0000 of its weight.")
    expect(shown_measure(page, "previous")).to_have_text("–")
    zeros = torch.stack([torch.zeros(3), *torch.eye(3)[1:]])
    page = open_figure(HeadExplorer(zeros, ["a", "b", "c"]))
    said(page, "“\u2068a\u2069” looks at nothing: its row is 0 everywhere.")
    assert strongest(page) == []
    assert table(page)[0] == ["0", "0", "0"]
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    said(page, "“\u2068b\u2069” gives “\u2068a\u2069” exactly 0.")
