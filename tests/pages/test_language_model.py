"""A language model runs in the built page from a file, with every other host out of reach."""

import time

import pytest
import torch

from mhsa_book.widgets.language_model_lab.language_model_lab import MODEL
from tests.mhsa_book.widgets.language_model_lab.reader import drawn, load, maps, read, words

PAGE = "book/language_model.html"
PROMPTS = [
    "The keys to the cabinet",
    "Er dachte an den Ring 💍, the one ring to",
    "When Sarah and Tom went to the park, Tom gave a ball to",
]
FIRST = "When Mary and John went to the store, John gave a drink to"
FOUR = [(23, 3), (20, 0), (18, 0), (19, 2)]


def test_prompts_typed_into_the_built_page_are_answered_as_python_does(site, alone, say):
    (page, asked), lm = alone, MODEL()
    page.goto((site / PAGE).as_uri())
    page.locator(".mhsa-language-model-lab[data-mhsa-alive]").wait_for()
    start = time.perf_counter()
    load(page)
    lines = [f"{time.perf_counter() - start:.1f} s until the model has loaded and answered"]
    for text in PROMPTS:
        (tokens, expected), likely = lm.attend(text), lm.next(text, 10)
        start = time.perf_counter()
        read(page, text, len(tokens))
        took = time.perf_counter() - start
        assert [word for word, _ in words(page)] == drawn(likely)
        found = [p for _, p in words(page)]
        assert found == pytest.approx([p for _, p in likely], abs=0.0055)
        far = (maps(page) - expected).abs().max().item()
        lines.append(f"{len(tokens)} tokens: {took:.2f} s, 270 maps at most {far:.4f} off")
        assert far < 0.005 + 0.5 / 255
    say("A language model in the page", lines)
    kept = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
    assert kept == []


def test_these_four_heads_count_and_most_sets_of_four_do_not():
    lm, draw = MODEL(), torch.Generator().manual_seed(0)
    with lm.without(FOUR):
        without = dict(lm.next(FIRST, 200)).get(" Mary", 0)
    assert without < 0.6
    drawn_sets = [torch.randperm(270, generator=draw)[:4].tolist() for _ in range(30)]
    falls = []
    for heads in drawn_sets:
        with lm.without([divmod(head, 9) for head in heads]):
            falls.append(dict(lm.next(FIRST, 200)).get(" Mary", 0))
    assert sum(left > 0.8 for left in falls) > 20
