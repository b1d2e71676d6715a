"""What chapter 23 says of an earlier comparison, under another recipe."""

import pytest

from mhsa_book.experiments import mixture
from mhsa_book.experiments.training import accuracy

SEEDS = range(8)


@pytest.mark.slow
def test_with_a_falling_rate_the_mixture_was_ahead_in_six_of_eight_seeds():
    found = {
        model: [accuracy(mixture.trained(model, seed), mixture.draw) for seed in SEEDS]
        for model in (mixture.HALF, mixture.PLAIN)
    }
    ahead = [ours > plain for ours, plain in zip(*found.values(), strict=True)]
    assert sum(ahead) == 6
