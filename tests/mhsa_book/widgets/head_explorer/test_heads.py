"""Every small head is a picture and a button: by mouse, by keys, sorted by a measure."""

import io

import pytest
from PIL import Image
from playwright.sync_api import expect

from mhsa_book import measure
from mhsa_book.widgets import HeadExplorer
from mhsa_book.widgets.packed import unpacked
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS, explorer, kept, weights
from tests.mhsa_book.widgets.head_explorer.reader import assert_shows, table


def test_every_head_is_a_button_and_shows_its_weights(open_figure):
    figure = explorer()
    page = open_figure(figure)
    w = unpacked(figure.attention)
    table(page)
    for layer, head in ((0, 0), (2, 3), (1, 2)):
        page.get_by_role("button", name=f"layer {layer}, head {head}").click()
        expect(page.locator(".mhsa-name").first).to_have_text(f"L{layer}H{head}")
        assert_shows(page, w[layer, head])
    expect(page.locator(".mhsa-head[aria-pressed=true]")).to_have_count(1)


PIXELS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, 6, 6);
  return Array.from({ length: 36 }, (_, i) => [...data.slice(4 * i, 4 * i + 4)]);
}"""


def test_pixels_of_a_small_head_are_its_weights(open_figure):
    w = kept(weights(1, 2, 6, 6, causal=True))
    page = open_figure(HeadExplorer(w, WORDS))
    drawn = page.locator(".mhsa-head canvas").nth(1).evaluate(PIXELS)
    steps = (w[0, 1] * 255).round().flatten() / 255
    colours = node("shared/colours", *[("weightColour", step.item()) for step in steps])
    for pixel, weight, colour in zip(drawn, w[0, 1].flatten(), colours, strict=True):
        red, green, blue, alpha = pixel
        assert alpha == (255 if weight else 0)
        assert not weight or colour == f"rgb({red},{green},{blue})"


@pytest.mark.parametrize("renormalise", [False, True])
def test_a_small_head_shows_what_is_left_over_its_whole_size(open_figure, renormalise):
    w = kept(weights(1, 2, 6, 6))
    hidden = [word for word in WORDS if word not in WORDS[1:3]]
    page = open_figure(HeadExplorer(w, WORDS, hidden=hidden, renormalise=renormalise))
    left = w[0, 1, 1:3, 1:3]
    left = left / left.sum(dim=-1, keepdim=True) if renormalise else left
    steps = (left * 255).round().flatten() / 255
    colours = node("shared/colours", *[("weightColour", step.item()) for step in steps])
    head = page.locator(".mhsa-head").nth(1)
    picture = Image.open(io.BytesIO(head.screenshot())).convert("RGB")
    side = head.bounding_box()["width"]
    places = [(side * i, side * j) for j in (0.25, 0.75) for i in (0.25, 0.75)]
    found = [picture.getpixel((round(i), round(j))) for i, j in places]
    assert [f"rgb({r},{g},{b})" for r, g, b in found] == colours


def test_arrow_keys_walk_through_the_heads(open_figure):
    page = open_figure(explorer())
    page.locator(".mhsa-head[aria-pressed=true]").focus()
    for key, name in (
        ("ArrowRight", "L0H1"), ("ArrowDown", "L1H1"), ("ArrowLeft", "L1H0"),
        ("ArrowLeft", "L0H3"), ("ArrowUp", "L0H3"), ("End", "L2H3"), ("ArrowDown", "L2H3"),
        ("Home", "L0H0"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(page.locator(".mhsa-name").first).to_have_text(name)
        expect(page.locator(".mhsa-head:focus")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".mhsa-head[tabindex='0']")).to_have_count(1)


@pytest.mark.parametrize("name", ["entropy", "previous", "first", "confidence"])
def test_heads_sort_by_a_measure(open_figure, name):
    figure = explorer(seed=3)
    w = unpacked(figure.attention)
    numbers = {
        "entropy": measure.entropy(w).mean(-1),
        "previous": measure.at_offset(w, -1),
        "first": measure.on_key(w, 0),
        "confidence": measure.confidence(w),
    }[name]
    page = open_figure(figure)
    page.get_by_label("sort").select_option(name)
    order = numbers.flatten().argsort(descending=True).tolist()
    wanted = [f"L{i // 4}H{i % 4} {numbers.flatten()[i]:.2f}" for i in order]
    assert page.locator(".mhsa-head").all_inner_texts() == wanted
    page.locator(".mhsa-head").first.click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mhsa-name").first).to_have_text(wanted[1].split()[0])
    page.get_by_label("sort").select_option("layer")
    names = page.locator(".mhsa-head").evaluate_all("all => all.map(b => b.title)")
    assert names == [f"layer {i // 4}, head {i % 4}" for i in range(12)]


def test_a_line_says_what_the_order_is_and_names_the_first_token(open_figure):
    page = open_figure(explorer())
    line, top = page.locator(".mhsa-order"), "document.querySelector('.mhsa-both').offsetTop"
    expect(line).to_have_text("As the model has them: rows are layers, columns are heads.")
    before = page.evaluate(top)
    for name, words in {
        "entropy": "Largest first: how spread its weights are, in nats.",
        "first": "Largest first: mean weight on the first key, here “\u2068[CLS]\u2069”.",
    }.items():
        page.get_by_label("sort").select_option(name)
        expect(line).to_have_text(words)
        assert page.evaluate(top) == before


def test_the_table_of_measures_sorts_by_its_headings(open_figure):
    figure = explorer(seed=3)
    confidence = measure.confidence(unpacked(figure.attention)).flatten()
    page = open_figure(figure)
    page.locator("summary", has_text="Measures of every head").click()
    rows = page.locator("details", has_text="Measures of every head").locator("tr")
    expect(rows).to_have_count(13)
    page.get_by_role("button", name="confidence").click()
    best = int(confidence.argmax())
    expect(rows.nth(1).locator("th")).to_have_text(f"L{best // 4}H{best % 4}")
    expect(rows.nth(1).locator("td").last).to_have_text(f"{confidence[best]:.2f}")
    expect(rows.first.locator("[aria-sort=descending]")).to_have_text("confidence")


def test_a_single_head_needs_no_choice_of_heads(open_figure):
    page = open_figure(HeadExplorer(weights(6, 6), WORDS))
    expect(page.locator(".mhsa-head:visible")).to_have_count(0)
    expect(page.get_by_label("sort")).to_be_hidden()
    expect(page.get_by_role("button", name="Compare")).to_be_hidden()
    expect(page.locator("summary", has_text="Measures of every head")).to_be_hidden()
    expect(page.locator(".mhsa-picture text[fill]").first).to_be_visible()
