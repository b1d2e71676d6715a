"""A model runs in the built page from a file, while every other host is out of reach."""

import time

import pytest

from mhsa_book.widgets.own_sentence import quantise
from tests.mhsa_book.widgets.own_sentence import pytorch
from tests.mhsa_book.widgets.own_sentence.reader import NEAR, load, maps, read, turned

CHAPTER = "notebooks/11_heads_of_a_real_model.html"
WHOLE_PAGE = 600_000
SENTENCES = [
    "A bank is where the river keeps its money.",
    "Die Wände hören mit – 我在河边的银行取钱 😀",
    "No head is an island, said head seven to head eleven, and looked at itself.",
]


FIRST = "The animal didn't cross the street because it was too tired."


def test_three_sentences_typed_into_the_built_page_are_pytorch_s(site, alone, say):
    (page, asked), chapter = alone, site / CHAPTER
    page.goto(chapter.as_uri())
    page.locator(".mhsa-own-sentence[data-mhsa-alive]").wait_for()
    start = time.perf_counter()
    load(page)
    lines = [
        f"the page: {chapter.stat().st_size / 1000:.0f} kB",
        f"the model: {quantise.asset().about['files'] / 1e6:.1f} MB, "
        f"{time.perf_counter() - start:.1f} s until the first answer",
    ]
    for text in SENTENCES:
        tokens, start = len(quantise.MODEL().attend(text)[0]), time.perf_counter()
        read(page, text, tokens)
        took = time.perf_counter() - start
        far = (maps(page) - pytorch.run(text)[0]).abs().max().item()
        lines.append(f"{tokens} tokens: {took:.2f} s, 72 maps at most {far:.4f} off")
        assert far < NEAR
    switches = page.locator(".mhsa-switches")
    switches.get_by_role("button", name="layer 0, head 2", exact=True).click()
    changed, whole = (pytorch.run(SENTENCES[-1], off)[1] for off in ([(0, 2)], []))
    assert turned(page, "Without 1 head") == pytest.approx((changed @ whole).item(), abs=2e-3)
    say("A real model in the page", lines)
    assert chapter.stat().st_size <= WHOLE_PAGE
    kept = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
    assert kept == []


def test_a_figure_that_goes_back_to_its_start_keeps_the_model(site, alone):
    page, _ = alone
    page.goto((site / CHAPTER).as_uri())
    figure = page.locator(".mhsa-own-sentence[data-mhsa-alive]")
    load(page)
    read(page, SENTENCES[0], len(quantise.MODEL().attend(SENTENCES[0])[0]))
    switches = figure.locator(".mhsa-switches")
    switches.get_by_role("button", name="layer 0, head 2", exact=True).click()
    turned(page, "Without 1 head")
    for _ in range(2):
        figure.get_by_role("button", name="Reset").click()
        page.get_by_text("All heads are on").wait_for()
        assert figure.get_by_label("text", exact=True).input_value() == FIRST
        assert figure.get_by_role("button", name="Load the model").count() == 0
    page.wait_for_timeout(1_500)  # longer than a model waits for its next figure
    assert (maps(page) - pytorch.run(FIRST)[0]).abs().max().item() < NEAR
    read(page, SENTENCES[2], len(quantise.MODEL().attend(SENTENCES[2])[0]))
