"""The task: sequences that repeat, and the two numbers read off a model."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book.models import repetition


def drawn(n=50, seed=0, **choices):
    return repetition.draw(n, 37, torch.Generator().manual_seed(seed), **choices)


def test_targets_are_the_inputs_one_step_on():
    sequences = drawn()
    assert torch.equal(sequences.inputs[:, 1:], sequences.targets[:, :-1])
    assert (sequences.inputs[:, 0] == 37).all()
    assert sequences.targets.max() == 36


@given(seed=st.integers(0, 1000), period=st.integers(1, 9), prefix=st.integers(0, 12))
def test_a_known_token_stood_one_period_earlier(seed, period, prefix):
    sequences = drawn(8, seed, length=30, periods=(period, period), longest_prefix=prefix)
    again = sequences.targets[:, period:] == sequences.targets[:, :-period]
    assert again[sequences.known[:, period:]].all()
    assert not sequences.known[:, : period + 1].any()
    assert sequences.known[:, prefix + period + 1 :].all()


def test_periods_and_prefixes_differ():
    sequences = drawn(400)
    unknown = (~sequences.known).sum(dim=1) - 1  # prefix + period
    assert unknown.min() >= 2
    assert unknown.max() <= 36
    assert unknown.unique().numel() > 25


def test_the_same_seed_draws_the_same_sequences():
    assert all(map(torch.equal, drawn(seed=3), drawn(seed=3)))
    assert not torch.equal(drawn(seed=3).inputs, drawn(seed=4).inputs)


def test_periods_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match=r"periods=\(5, 2\) hold no period"):
        drawn(periods=(5, 2))
    with pytest.raises(ValueError, match="shortest_period=0 is not a size"):
        drawn(periods=(0, 2))


def test_accuracy_counts_only_what_can_be_known():
    sequences = drawn()
    right = torch.nn.functional.one_hot(sequences.targets, 38).float()
    assert repetition.accuracy(right, sequences) == 1.0
    blind = right * sequences.known[..., None]
    assert repetition.accuracy(blind, sequences) == 1.0
    assert repetition.accuracy(right * ~sequences.known[..., None], sequences) < 0.1


def by_definition(weights, sequences):
    """Loops: for each known query, the weight on every key that follows the same token."""
    found = []
    for s, q in sequences.known.nonzero().tolist():
        ids = sequences.inputs[s]
        keys = [k for k in range(1, q + 1) if ids[k - 1] == ids[q]]
        found.append(weights[s, :, q, keys].sum(dim=-1))
    return torch.stack(found).mean(dim=0)


def test_the_induction_score_is_what_its_definition_says():
    sequences = drawn(6, length=20, periods=(2, 6), longest_prefix=4)
    weights = torch.randn(6, 3, 20, 20).exp().tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    found = repetition.induction(weights, sequences)
    torch.testing.assert_close(found, by_definition(weights, sequences))
