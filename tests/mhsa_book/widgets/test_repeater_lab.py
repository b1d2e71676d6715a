"""The trained model inside the page computes and refuses what Python does."""

import random

import pytest
import torch
from torch.testing import assert_close
from traitlets import TraitError

from mhsa_book.models import repeater
from mhsa_book.widgets import RepeaterLab
from mhsa_book.widgets.repeater_lab import packed
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.repeater_texts import TEXTS, words_of

MODEL = repeater.load()
ALPHABET = repeater.ALPHABET


def in_javascript(cases):
    """Probabilities and weights of (text, off) by the page's code, in one process."""
    raw, tensors = packed()
    (matrices,) = node("shared/halves", ("unpack", list(raw), tensors))
    calls = [
        ("run", matrices, repeater.encode(text).tolist(), 2, 4, [list(head) for head in off])
        for text, off in cases
    ]
    return node("repeater_lab/model", *calls)


def drawn_cases(n, seed=0):
    """Random texts of every length, with repeats and without, and random heads off."""
    draws = random.Random(seed)
    heads = [(layer, head) for layer in range(2) for head in range(4)]
    for _ in range(n):
        block = "".join(draws.choices(ALPHABET, k=draws.randint(1, 40)))
        text = (block * draws.randint(1, 9))[: draws.randint(1, 63)]
        yield text, draws.sample(heads, k=draws.choice([0, 0, 1, 2, 8]))


def test_the_page_computes_what_pytorch_computes(report):
    cases, worst = [*drawn_cases(30), ("a" * 63, []), (" ", [])], 0.0
    for (text, off), found in zip(cases, in_javascript(cases), strict=True):
        with repeater.without(MODEL, *off):
            probabilities = MODEL.predict(text)
            weights = MODEL.attend(text)[1]
        for ours, theirs in (("probabilities", probabilities), ("weights", weights)):
            worst = max(worst, (torch.tensor(found[ours]) - theirs).abs().max().item())
    report(f"repeater: JavaScript differs from PyTorch by at most {worst:.1e}")
    assert worst < 1e-4


def test_half_precision_is_decoded_exactly():
    values = torch.tensor(
        [0.0, -0.0, 1.0, -2.5, 65504.0, 6e-8, 6.1e-5, -3.3e-4, 0.1], dtype=torch.float16
    )
    every = torch.arange(0, 0x7C00, 7, dtype=torch.int16).view(torch.float16)
    values = torch.cat([values, every, -every])
    (found,) = node("shared/halves", ("halves", list(values.numpy().tobytes())))
    assert_close(torch.tensor(found, dtype=torch.float64), values.double(), atol=0, rtol=0)


def test_a_text_is_read_or_refused_as_in_python():
    found = node("repeater_lab/texts", *[("encoded", text, ALPHABET, 64) for text in TEXTS])
    assert found == [words_of(text) for text in TEXTS]


# --- the Python side -------------------------------------------------------------------------


def test_what_does_not_exist_is_refused():
    lab = RepeaterLab("abcabc")
    with pytest.raises((ValueError, TraitError), match="is not one that the model has learned"):
        lab.text = "naïve"
    with pytest.raises((ValueError, TraitError), match="there is no head 4 in layer 1"):
        lab.off = [[0, 1], [1, 4]]
    with pytest.raises((ValueError, TraitError), match="there is no head 0 in layer 2"):
        lab.large = [2, 0]
    with pytest.raises((ValueError, TraitError), match="position=7 does not exist"):
        lab.position = 7
    assert (lab.text, lab.off, lab.large, lab.position) == ("abcabc", [], [1, 3], None)


def test_the_still_picture_says_what_it_shows():
    lab = RepeaterLab("abcxyzabcx")
    assert "goes on with y, probability 0.9" in lab.alt
    lab.off = [[0, 2]]
    assert "Heads switched off: L0H2" in lab.alt
    assert "goes on with y" not in lab.alt


def test_the_weights_fit_the_budget_of_a_figure(report):
    html = RepeaterLab().html()
    state = html[html.index('type="application/json">') : html.index("</script></div>")]
    report(f"repeater: {len(state) / 1000:.0f} kB of inline data")
    assert len(state) < 200_000
