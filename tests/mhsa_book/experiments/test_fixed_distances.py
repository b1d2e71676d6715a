"""What is measured of one layer is what its name says, on a layer made by hand."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.experiments import fixed_distances as fixed
from mhsa_book.experiments import listing
from mhsa_book.experiments.induction import EIGHT, FOUR
from mhsa_book.models import repetition
from mhsa_book.models.repeater import START, Repeater
from mhsa_book.results import measured
from mhsa_lib import edit, trace


@pytest.fixture
def one_layer():
    torch.manual_seed(0)
    return Repeater(n_layers=1, d_model=32, n_heads=8, max_tokens=32).requires_grad_(False)


def test_a_distance_is_right_for_the_lengths_that_divide_it():
    for distance in range(1, 25):
        for length in range(2, 9):
            drawn = repetition.draw(
                8,
                START,
                torch.Generator().manual_seed(distance),
                length=64,
                periods=(length, length),
                longest_prefix=0,
            )
            whole = torch.cat([drawn.inputs[:, 1:], drawn.targets[:, -1:]], dim=1)
            same = (whole[:, distance:] == whole[:, :-distance]).all()
            assert bool(same) == (distance % length == 0)
        assert fixed.divisors(distance) == len([p for p in range(2, 9) if distance % p == 0])


def test_no_two_of_the_long_lengths_divide_a_distance_below_30():
    assert max(fixed.divisors(distance, fixed.LONG) for distance in range(1, 30)) == 1
    assert fixed.divisors(30, fixed.LONG) == 2


def test_a_layer_that_copies_from_one_distance_raises_that_distance_alone(one_layer):
    """Its weights are set to one key; what a value writes is the token itself."""
    layer, drawn = one_layer.layers[0], fixed.sequences(64, fixed.SHORT, seed=1)
    one_layer.tokens.weight.copy_(torch.randn(START + 1, 32))
    one_layer.unembed.weight.copy_(one_layer.tokens.weight)
    for W in (layer.project.W_V, layer.W_O):
        W.weight.copy_(torch.eye(32))
    six_back = torch.zeros(32, 32)
    for query in range(32):
        six_back[query, max(query + 1 - 6, 0)] = 1
    with edit(layer, "weights", lambda w: six_back.expand_as(w)):
        raises = fixed.raised(one_layer, drawn)
    assert raises[5] > 10
    assert_close(torch.tensor(raises[:5] + raises[6:]), torch.zeros(23))


def test_blind_weights_know_no_token(one_layer):
    layer = one_layer.layers[0]
    usual = fixed.blind_weights(layer, one_layer, (2, 3))
    assert usual.shape == (8, 32, 32)
    assert_close(usual.sum(dim=-1), torch.ones(8, 32))
    with edit(layer, "weights", lambda w: usual.expand_as(w)), trace(layer) as wires:
        one_layer(fixed.sequences(4, fixed.SHORT, seed=2).inputs)
    assert_close(wires["weights"], usual.expand_as(wires["weights"]))


def made_up(one=(0.7, 0.65), two=(0.96, 0.3), long_one=0.3, long_two=0.95, worst=("5", "7")):
    lengths = {str(p): [0.4 if str(p) in worst else 0.9, 0.4] for p in range(2, 9)}
    raises = [float(fixed.divisors(distance)) for distance in range(1, 25)]
    kinds = {
        (EIGHT, fixed.SHORT): one,
        (FOUR, fixed.SHORT): two,
        (EIGHT, fixed.LONG): (long_one, 0.3),
        (FOUR, fixed.LONG): (long_two, 0.3),
    }
    return {
        fixed.name((arm, *span, seed)): {
            "right": right,
            "blind": blind,
            "by length": lengths,
            "raised": raises,
        }
        for (arm, span), (right, blind) in kinds.items()
        for seed in range(fixed.SEEDS[arm, span])
    }


def test_the_verdicts_follow_what_was_found():
    assert fixed.verdicts(made_up()) == (True,) * 6
    assert fixed.verdicts(made_up(one=(0.9, 0.7)))[1] is False
    assert fixed.verdicts(made_up(worst=("5", "8")))[2] is False
    assert fixed.verdicts(made_up(two=(0.96, 0.6)))[3] is False
    assert fixed.verdicts(made_up(long_one=0.5))[4] is False
    assert fixed.verdicts(made_up(long_two=0.8))[5] is False


def test_numbers_are_read_back_as_they_were_stored(tmp_path: Path):
    stored = measured.Measured(("It does.",), "0" * 40, "2026-01-31", {"cpu": "x"}, {"a": [1]})
    measured.save("demo", stored, tmp_path)
    assert measured.kept("demo", tmp_path) == stored
    with pytest.raises(FileNotFoundError, match=r"python -m mhsa_book\.experiments\.other"):
        measured.kept("other", tmp_path)


def test_it_is_not_listed_as_an_experiment_with_arms():
    assert "fixed_distances" not in listing.names()
    assert "induction" in listing.names()
