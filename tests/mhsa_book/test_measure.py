"""Numbers about attention weights."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book import measure
from tests.helpers.drawn import rand

SIZE = st.integers(1, 5)


def distributions(*shape):
    return torch.softmax(rand(*shape), dim=-1)


def previous_token(n):
    """Every query looks one back, the first at itself."""
    return torch.eye(n)[[0, *range(n - 1)]]


def test_the_test_pattern_is_what_it_says():
    assert previous_token(3).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_entropy_is_in_nats_and_between_0_and_ln_n():
    assert measure.entropy(torch.eye(4)).tolist() == [0.0] * 4
    assert_close(measure.entropy(torch.full((2, 8), 1 / 8)), torch.full((2,), math.log(8)))


def test_a_row_of_zeros_has_no_entropy_and_no_distance():
    blind = torch.zeros(1, 3)
    assert measure.entropy(blind).item() == measure.distance(blind).item() == 0.0


def test_distance_counts_tokens_in_both_directions():
    assert measure.distance(torch.eye(3).flip(1)).tolist() == [2.0, 0.0, 2.0]


def test_queries_are_the_last_positions_here_too():
    last_two_of_five = torch.tensor([[0.0, 0, 0, 1, 0], [1.0, 0, 0, 0, 0]])
    assert measure.distance(last_two_of_five).tolist() == [0.0, 4.0]
    assert measure.at_offset(last_two_of_five, 0).item() == 0.5
    assert measure.at_offset(last_two_of_five, -4).item() == 1.0


def test_minus_one_is_the_previous_token_and_plus_one_the_next():
    back = previous_token(5)
    assert measure.at_offset(back, -1).item() == 1.0
    assert measure.at_offset(back, 1).item() == 0.0
    assert measure.at_offset(back.flip(0, 1), 1).item() == 1.0


def test_only_queries_that_have_such_a_token_count():
    weights = distributions(6, 6)
    assert_close(measure.at_offset(weights, -2), weights.diagonal(-2).mean())
    assert_close(measure.at_offset(weights, 3), weights.diagonal(3).mean())


def test_an_offset_longer_than_the_text_is_refused():
    with pytest.raises(ValueError, match="offset=3 leaves no pair of tokens"):
        measure.at_offset(torch.eye(3), 3)


def test_weight_on_a_key_is_a_mean_over_queries():
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert measure.on_key(weights, 0).item() == 0.75
    assert measure.on_key(weights, -1).item() == 0.25
    with pytest.raises(ValueError, match=r"key=2 is not a position; there are 2 keys"):
        measure.on_key(weights, 2)


def test_confidence_is_the_mean_of_the_largest_weight():
    weights = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    assert measure.confidence(weights).item() == pytest.approx(0.75)


def test_heads_that_look_alike_agree_fully_and_disjoint_ones_not_at_all():
    weights = torch.stack([torch.eye(3), torch.eye(3), torch.eye(3).roll(1, 0)])
    assert_close(
        measure.agreement(weights),
        torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    )


def test_agreement_is_one_minus_the_jensen_shannon_divergence_in_bits():
    a, b = torch.tensor([0.9, 0.1]), torch.tensor([0.2, 0.8])
    middle = (a + b) / 2
    kl = ((a * (a / middle).log2()).sum() + (b * (b / middle).log2()).sum()) / 2
    found = measure.agreement(torch.stack([a, b])[:, None, :])
    assert_close(found[0, 1], 1 - kl)


@given(st.lists(SIZE, max_size=2), SIZE, SIZE, SIZE)
def test_agreement_is_symmetric_and_within_0_and_1(batch, n_heads, n_query, n_key):
    found = measure.agreement(distributions(*batch, n_heads, n_query, n_key))
    assert found.shape == (n_heads, n_heads)
    assert_close(found, found.T)
    assert_close(found.diagonal(), torch.ones(n_heads).double())
    assert (found > -1e-9).all()
    assert (found < 1 + 1e-9).all()


def test_agreement_needs_heads_to_compare():
    with pytest.raises(ValueError, match=r"weights \(3, 3\) have no head axis"):
        measure.agreement(torch.eye(3))


def test_every_measure_keeps_the_leading_axes():
    weights = distributions(2, 3, 5, 5)
    assert measure.entropy(weights).shape == measure.distance(weights).shape == (2, 3, 5)
    for number in (measure.at_offset(weights, -1), measure.on_key(weights, 0)):
        assert number.shape == (2, 3)
    assert_close(measure.entropy(weights)[1, 2], measure.entropy(weights[1, 2]))
    assert_close(measure.at_offset(weights, -1)[1, 2], measure.at_offset(weights[1, 2], -1))
    assert_close(measure.confidence(weights)[1, 2], measure.confidence(weights[1, 2]))


def test_a_row_of_zeros_counts_as_zero_in_every_mean():
    weights = torch.eye(4)
    weights[2] = 0.0
    assert measure.confidence(weights) == 0.75
    assert measure.on_key(weights, 0) == 0.25
    assert measure.on_key(weights, 2) == 0.0
    assert measure.at_offset(weights, 0) == 0.75
    assert measure.entropy(weights)[2] == 0.0
    assert measure.distance(weights)[2] == 0.0


def test_agreement_leaves_out_the_rows_where_a_head_sees_nothing():
    one, other = torch.eye(3).double(), torch.eye(3).double().roll(1, 0)
    one[0], other[1] = 0.0, 0.0
    found = measure.agreement(torch.stack([one, other, one]))
    assert_close(found[0, 1], torch.zeros(()).double())  # not 1/3: nobody agreed on anything
    assert_close(found.diagonal(), torch.ones(3).double())
    assert_close(found[0, 2], torch.ones(()).double())
    alone = torch.rand(2, 3, 1, 3).double().softmax(dim=-1)
    padded = torch.cat([alone, torch.zeros(2, 3, 4, 3).double()], dim=-2)
    assert_close(measure.agreement(padded), measure.agreement(alone))


def test_heads_that_see_nothing_agree():
    assert torch.equal(measure.agreement(torch.zeros(2, 3, 4)), torch.ones(2, 2))


def factors(n_heads, d_model, d_head, seed=0):
    """Heads as they are: a product of two thin matrices each."""
    draws = torch.Generator().manual_seed(seed)
    down = torch.randn(n_heads, d_model, d_head, generator=draws).double()
    return down @ torch.randn(n_heads, d_head, d_model, generator=draws).double()


def test_composition_is_the_norm_of_the_product_over_the_norms():
    writes, reads = factors(2, 6, 3), factors(3, 6, 2, seed=1)
    found = measure.composition(writes, reads)
    assert found.shape == (2, 3)
    for i, a in enumerate(writes):
        for j, b in enumerate(reads):
            product = sum(
                (sum(a[r, m] * b[m, c] for m in range(6))) ** 2
                for r in range(6)
                for c in range(6)
            ).sqrt()
            assert_close(found[i, j], product / a.square().sum().sqrt() / b.norm())


def test_a_head_composes_fully_with_one_that_reads_the_direction_it_writes():
    column = torch.randn(1, 5, 1).double()
    writes = torch.randn(1, 5, 1).double() @ column.mT
    reads = column @ torch.randn(1, 1, 5).double()
    assert_close(measure.composition(writes, reads), torch.ones(1, 1).double())
    beside = torch.eye(5) - column @ column.mT / column.square().sum()
    assert measure.composition(writes, beside) < 1e-7


def test_random_heads_compose_by_one_over_the_root_of_the_width():
    found = measure.composition(factors(20, 64, 16), factors(20, 64, 16, seed=1))
    assert found.mean() == pytest.approx(64**-0.5, rel=0.02)
    assert found.std() < 0.01


def test_a_silent_head_composes_with_nothing_and_nan_stays_visible():
    writes = torch.stack([torch.zeros(3, 3), torch.full((3, 3), torch.nan)])
    found = measure.composition(writes, torch.eye(3)[None])
    assert found[0] == 0
    assert found[1].isnan()


@pytest.mark.bothways
@pytest.mark.parametrize("shape", [(3, 4, 4), (3, 3), (2, 3, 4)])
def test_composition_needs_square_matrices_of_one_width(shape):
    with pytest.raises(ValueError, match=r"\(head, d_model, d_model\) of one d_model; give"):
        measure.composition(torch.ones(2, 3, 3), torch.ones(shape))
