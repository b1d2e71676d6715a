"""The numbers of the page are those of PyTorch, whatever is hidden."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mhsa_book import measure
from mhsa_book.widgets.packed import unpacked
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS, explorer, kept, weights

SIZES = [(1, 1), (1, 5), (2, 2), (6, 6), (3, 8), (17, 17), (5, 3)]


@pytest.mark.parametrize("causal", [False, True])
def test_measures_are_those_of_the_library(causal):
    cases = [weights(2, *size, seed=i, causal=causal) for i, size in enumerate(SIZES)]
    cases = [w.nan_to_num(0.0) for w in cases]
    cases.append(torch.cat([torch.zeros(2, 1, 4), weights(2, 3, 4)], dim=1))
    calls = [
        ("measure", w.flatten().tolist(), head * w[0].numel(), *w.shape[1:])
        for w in cases
        for head in (0, 1)
    ]
    answers = iter(node("head_explorer/measures", *calls))
    for w in cases:
        for head in (0, 1):
            one, got = w[head], next(answers)
            wanted = {
                "entropy": measure.entropy(one).mean(),
                "distance": measure.distance(one).mean(),
                "first": measure.on_key(one, 0),
                "confidence": measure.confidence(one),
            }
            for name, offset in (("previous", -1), ("own", 0), ("next", 1)):
                try:
                    wanted[name] = measure.at_offset(one, offset)
                except ValueError:
                    assert got.pop(name) == "NaN"
            assert got == pytest.approx({k: v.item() for k, v in wanted.items()}, abs=1e-5)


def test_agreement_is_that_of_the_library():
    w = weights(4, 5, 7, causal=True)
    calls = [("agreement", w.flatten().tolist(), 1, other, 5, 7) for other in range(4)]
    assert node("head_explorer/measures", *calls) == pytest.approx(
        measure.agreement(w)[1].tolist()
    )


@settings(max_examples=8, deadline=None)
@given(
    hidden=st.lists(st.sampled_from(WORDS), max_size=5, unique=True),
    renormalise=st.booleans(),
    seed=st.integers(0, 99),
)
def test_hiding_leaves_the_same_rows_in_python_and_on_the_page(hidden, renormalise, seed):
    figure = explorer(seed, layer=1, head=2, hidden=hidden, renormalise=renormalise)
    left, tokens, _ = figure.shown()
    places = [i for i, word in enumerate(WORDS) if word not in hidden]
    flat = unpacked(figure.attention).flatten().tolist()
    divide = renormalise and bool(hidden)
    kept_places, picked = node(
        "head_explorer/head_filters",
        ("kept", WORDS, hidden),
        ("pick", flat, list(figure.shape), places, places, divide),
    )
    assert kept_places == places
    assert tokens == [WORDS[i] for i in places]
    ours = torch.tensor(picked).reshape(3, 4, *left.shape)[1, 2]
    # The page has 16 bits; a weight below half a step is shown as one: it is still a weight.
    torch.testing.assert_close(ours.double(), left, atol=1 / 65535, rtol=0)
    if divide:
        kept_of_it = unpacked(figure.attention)[1, 2][places][:, places].sum(-1)
        whole = torch.where(kept_of_it > 0.01, 1.0, kept_of_it)  # of less, most is rounding
        torch.testing.assert_close(left.sum(-1), whole, atol=1e-6, rtol=0)


def test_sixteen_bits_are_exact_to_four_decimals_and_only_zero_is_zero():
    w = torch.cat([weights(1, 30, 30, causal=True), torch.tensor([1.0, 1e-9] + [0.0] * 28)
                   .expand(1, 1, 30)], dim=1)  # fmt: skip
    back = kept(w)
    assert (back - w).abs().max() < 1.6e-5
    assert torch.equal(back == 0, w == 0)
