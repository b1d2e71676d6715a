"""A mixture of experts: what a token computes, and what a batch reads."""

import pytest
import torch

from mhsa_book.costs import experts
from mhsa_book.costs.experts import DEEPSEEK_V3, Experts
from mhsa_book.costs.roofline import compute_bound_from

H100 = 989e12, 3.35e12


def test_experts_that_are_touched_are_those_of_a_drawn_batch():
    torch.manual_seed(0)
    some = Experts(4, 8, n_experts=16, n_active=2)
    for tokens in (1, 5, 40):
        draws = [
            torch.stack([torch.randperm(16)[:2] for _ in range(tokens)]).unique().numel()
            for _ in range(400)
        ]
        assert some.touched(tokens) == pytest.approx(sum(draws) / 400, rel=0.03)


def test_sizes_of_deepseek_v3_are_those_of_its_report():
    """671 B learned numbers, 37 B of which a token uses; attention is not in them."""
    layers = 58
    assert 650e9 < layers * DEEPSEEK_V3.parameters() < 671e9
    assert 20e9 < layers * DEEPSEEK_V3.step(1).flops / 2 < 37e9


def test_one_token_reads_what_it_uses_and_many_read_everything():
    used = 9 * DEEPSEEK_V3.numbers
    assert DEEPSEEK_V3.step(1, itemsize=1).bytes == used
    all_of_them = 257 * DEEPSEEK_V3.numbers
    assert DEEPSEEK_V3.step(5000, itemsize=1).bytes == pytest.approx(all_of_them)
    assert DEEPSEEK_V3.step(5000).flops == 2 * 5000 * used


def test_it_is_compute_bound_28_times_as_late_as_a_dense_layer():
    """257 / 9 times, with the shared expert: the ridge of an H100 is 295."""
    found = compute_bound_from(DEEPSEEK_V3.step, *H100)
    assert found == pytest.approx(295.2 * 257 / 9, rel=0.001)
    alone = Experts(7168, 2048, n_experts=256, n_active=8)
    assert compute_bound_from(alone.step, *H100) == pytest.approx(295.2 * 32, rel=0.001)


def test_no_tokens_are_no_step():
    with pytest.raises(ValueError, match="tokens=0 is not a size"):
        experts.DEEPSEEK_V3.touched(0)
