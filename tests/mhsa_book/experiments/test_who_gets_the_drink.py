"""What is stored of the heads that find who gets the drink comes out again, another way."""

import json
import re
from math import sqrt
from pathlib import Path
from statistics import fmean

import pytest
import torch

from mhsa_book import models
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.widgets.nine_heads import cases
from tests.architecture.library import TREE
from tests.helpers.history import words_at

if not drink.FILE.is_file():
    pytest.skip("predictions are committed, and nothing is run yet", allow_module_level=True)

STORED = json.loads(drink.FILE.read_text(encoding="utf-8"))
HEADS = [f"L{layer}H{head}" for layer in range(2, 30, 2) for head in [layer % 9]]
"""A twentieth of the 270 heads."""


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def pair_of_ids(lm, pair):
    return [lm.id(f" {name}") for name in pair]


def test_predictions_are_in_the_commit_that_is_named():
    words = words_at(STORED["commit"], Path(drink.__file__))
    assert STORED["predictions"] == [*drink.PREDICTIONS]
    for prediction in drink.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


def test_the_names_that_report_chose_nothing():
    assert not {*drink.HELD_OUT} & {*drink.FOUND_ON, *drink.FIRST_PAGE}
    assert drink.prompts(drink.STORE, drink.ring(drink.FOUND_ON)) == cases.stored()["over"]
    assert len({frozenset(pair) for pair in drink.held_out()}) == len(drink.held_out()) == 28


def test_heads_off_alone_come_out_again_one_text_at_a_time(lm):
    pairs = drink.ring(drink.FOUND_ON)
    texts = drink.prompts(drink.STORE, pairs)
    for name in ["L23H3", "L24H4"]:
        head = tuple(map(int, re.findall(r"\d+", name)))
        with lm.without([head], how="mean", over=texts):
            for i in (0, 27):
                right, wrong = lm.logits(texts[i])[-1][pair_of_ids(lm, pairs[i])]
                known = STORED["raw"]["heads"]["all on"][i] + STORED["raw"]["heads"][name][i]
                assert (right - wrong).item() == pytest.approx(known, abs=1e-3)


def test_a_twentieth_of_the_heads_comes_out_again_with_another_output_map(lm):
    """A head at its mean is one row less in W_O and a constant more: no wire is edited."""
    pairs = drink.ring(drink.FOUND_ON)
    texts = drink.prompts(drink.STORE, pairs)
    means = torch.stack([lm.heads(text) for text in texts]).mean(dim=(0, 3))
    right, wrong = pair_of_ids(lm, pairs[5])
    for name in HEADS:
        layer, head = map(int, re.findall(r"\d+", name))
        W = lm.attention(layer).W_O.weight
        kept = W.detach().clone()
        part = slice(head * lm.d_head, (head + 1) * lm.d_head)
        constant = kept[:, part] @ means[layer, head]
        handle = lm.attention(layer).W_O.register_forward_hook(
            lambda module, args, y, constant=constant: y + constant
        )
        try:
            W[:, part] = 0
            after = lm.logits(texts[5])[-1]
        finally:
            handle.remove()
            W.copy_(kept)
        known = STORED["raw"]["heads"]["all on"][5] + STORED["raw"]["heads"][name][5]
        assert (after[right] - after[wrong]).item() == pytest.approx(known, abs=2e-3), name


@pytest.mark.parametrize("template", drink.TEMPLATES)
def test_chances_of_two_prompts_come_out_again(lm, template):
    raw, text = STORED["raw"][template], drink.TEMPLATES[template]
    over = drink.prompts(text, drink.ring(drink.FOUND_ON[:6]))
    pairs = drink.held_out()[:2]
    assert drink.chances(lm, text, pairs) == [
        pytest.approx(p, abs=1e-4) for p in raw["all on"][:2]
    ]
    for how, name in zip(drink.hows(text), ("six", "random 1"), strict=False):
        with lm.without(STORED["sets"][name], how=how, over=over):
            again = drink.chances(lm, text, pairs)
        assert again == [pytest.approx(p, abs=1e-4) for p in raw[f"{name}, {how}"][:2]]


def test_summaries_follow_from_the_numbers_of_the_prompts():
    for template in drink.TEMPLATES:
        for name, found in STORED["raw"][template].items():
            summary, n = STORED["held out"][template][name], len(found)
            share = sum(right > wrong for right, wrong in found) / n
            z = 1.959964  # Wilson, "Probable Inference", 1927
            half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
            ends = [(share + z * z / (2 * n) + s * half) / (1 + z * z / n) for s in (-1, 1)]
            assert summary["leads"] == pytest.approx([share, *ends], abs=1e-3)
            mean, low, high = summary["p"]
            assert mean == pytest.approx(fmean(right for right, _ in found), abs=1e-3)
            assert low <= mean <= high
    for name, changes in STORED["raw"]["heads"].items():
        assert STORED["heads"][name][0] == pytest.approx(fmean(changes), abs=1e-3)
    assert len(STORED["heads"]) == 271


def test_what_is_said_follows_from_what_is_stored():
    assert STORED["said"] == drink.said(STORED["heads"], STORED["held out"])
    for template in drink.TEMPLATES:
        told = [line for line in STORED["said"] if line.startswith(template)]
        knows = STORED["held out"][template]["all on"]["leads"][0] >= drink.KNOWS
        assert [("hardly knows" in line) for line in told] == (
            [False] * len(drink.hows(drink.TEMPLATES[template])) if knows else [True]
        )


def test_the_first_page_says_what_is_stored():
    text = (TREE / "book" / "intro.md").read_text(encoding="utf-8")
    page = STORED["first page"]
    percent = {name: f"{100 * chance[0]:.0f}" for name, chance in page.items()}
    assert f"falls from {percent['none']} % to {percent['six']} %" in text.replace(
        "\u00a0", " "
    )
    assert f"without it she rises to {percent['L24H4']} %" in text.replace("\u00a0", " ")
    assert page["six"][1] > page["six"][0]
