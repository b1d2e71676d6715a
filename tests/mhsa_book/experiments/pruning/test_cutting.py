"""What is left after a cut is trained on the same batches, for as long, and timed as it is."""

import torch

from mhsa_book.experiments.pruning.cutting import CUT_SEEDS, again, batches, losses, tuned
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.removal import removed
from mhsa_book.experiments.pruning.speed import ratios
from mhsa_book.experiments.translation import heads_of, learning

WHOLE = learning.untrained(seed=0)


def test_batches_drawn_once_are_those_that_fine_tuning_draws_of_itself():
    kept = heads_of(WHOLE)[::3]
    alone = tuned(removed(WHOLE, kept), 5, 3, 1e-3)
    shared = tuned(removed(WHOLE, kept), 5, 3, 1e-3, again(batches(5, 3)))
    assert losses(alone, 32) == losses(shared, 32) != losses(removed(WHOLE, kept), 32)


def test_they_are_not_those_of_the_first_training():
    source, _ = batches(5, 1)[0]
    first, _ = learning.draw(torch.Generator().manual_seed(5))
    assert CUT_SEEDS > 1000
    assert source.shape != first.shape or not source.equal(first)


def test_from_scratch_takes_as_many_steps_as_l0_in_all():
    assert Plan().n_scratch_steps == 1200 + 300 + 100


def test_a_pass_with_fewer_heads_takes_a_smaller_share_of_the_whole_s_time():
    few = removed(WHOLE, heads_of(WHOLE)[:1])
    found = ratios(WHOLE, {"few": few, "the same": WHOLE}, n_pairs=32, budget=0.5)
    assert found["few"] < 0.8 < found["the same"] < 1.25
