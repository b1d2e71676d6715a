"""Trained heads merged into fewer: what stays, what is lost, and in which order."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.conversions.align import aligned
from mhsa_book.conversions.grouping import by_head, mean, pooled
from mhsa_book.conversions.merging import first, fresh, write
from mhsa_lib import FusedMultiHeadAttention, masks
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Split
from tests.helpers.drawn import mha, rand


def with_equal_groups(attention, n_kv_heads):
    """Every key and value head of a group overwritten by the first of its group."""
    for W in (attention.project.W_K, attention.project.W_V):
        heads = by_head(W, attention.d_head)
        group = len(heads) // n_kv_heads
        write(W, heads[::group].repeat_interleave(group, dim=0))
    return attention


def error(found, attention):
    # The same tokens in every call, or two errors would differ by their tokens too.
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 16, attention.d_model, generator=generator, dtype=torch.float64)
    expected = attention(x, mask=masks.causal)
    return ((found(x, mask=masks.causal) - expected).norm() / expected.norm()).item()


MERGES = st.sampled_from([mean, first])


@given(st.sampled_from([1, 2, 3, 6]), st.booleans(), st.booleans(), MERGES)
def test_it_is_exact_where_the_heads_of_a_group_are_equal(n_kv_heads, bias, turned, merge):
    split = RotarySplit(6, Rotary(4)) if turned else None
    attention = with_equal_groups(mha(12, 6, d_head=4, bias=bias, split=split), n_kv_heads)
    x = rand(2, 5, 12)
    found = pooled(attention, n_kv_heads, merge)
    assert_close(found(x, mask=masks.causal), attention(x, mask=masks.causal))


def test_the_mean_is_the_mean_of_the_rows_head_by_head():
    attention = mha(12, 6, bias=True)
    found = pooled(attention, 2).project
    for name in ("W_K", "W_V"):
        old, new = getattr(attention.project, name), getattr(found, name)
        for group in range(2):
            for row in range(2):
                rows = [(3 * group + head) * 2 + row for head in range(3)]
                assert_close(new.weight[2 * group + row], old.weight[rows].mean(dim=0))
                assert_close(new.bias[2 * group + row], old.bias[rows].mean())


def test_the_first_head_of_every_group_is_taken():
    attention = mha(12, 6, bias=True)
    found = pooled(attention, 2, first).project
    assert torch.equal(found.W_K.weight, attention.project.W_K.weight[[0, 1, 6, 7]])
    assert torch.equal(found.W_V.bias, attention.project.W_V.bias[[0, 1, 6, 7]])


def test_fresh_heads_keep_nothing_and_are_drawn_as_linear_maps_are():
    attention = mha(100, 4)
    weight = pooled(attention, 1, fresh).project.W_K.weight
    assert weight.abs().max() <= 0.1
    assert abs(weight.std().item() - 0.1 / 3**0.5) < 0.005
    assert not torch.equal(weight, pooled(attention, 1, fresh).project.W_K.weight)


def test_your_own_way_to_merge_is_a_function():
    attention, rows = mha(12, 6), [2, 3, 6, 7, 10, 11]
    found = pooled(attention, 3, lambda heads: heads[-1])
    assert torch.equal(found.project.W_K.weight, attention.project.W_K.weight[rows])


def test_queries_and_outputs_stay_and_nothing_is_shared():
    attention, x = mha(12, 6, bias=True, dropout=0.25).eval(), rand(5, 12)
    attention.attend.scale = 0.3
    found = pooled(attention, 2)
    for W, old in (
        (found.project.W_Q, attention.project.W_Q),
        (found.W_O, attention.W_O),
    ):
        assert torch.equal(W.weight, old.weight)
        assert torch.equal(W.bias, old.bias)
    assert (found.attend.scale, found.attend.dropout.p, found.training) == (0.3, 0.25, False)
    before = found(x)
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert torch.equal(found(x), before)
    assert all(parameter.requires_grad for parameter in found.parameters())


def test_a_grouped_attention_can_be_pooled_again():
    attention, x = mha(12, 6), rand(5, 12)
    assert_close(pooled(pooled(attention, 3), 1)(x), pooled(attention, 1)(x))


def test_positions_and_norms_come_along():
    split = RotarySplit(6, Rotary(2), q_norm=torch.nn.RMSNorm(2), k_norm=torch.nn.RMSNorm(2))
    attention = with_equal_groups(mha(12, 6, split=split), 2)
    torch.nn.init.normal_(split.k_norm.weight)
    found, x = pooled(attention, 2), rand(5, 12)
    assert_close(found(x), attention(x))
    assert found.split.k_norm is not split.k_norm


def test_the_pooled_attention_can_be_fused():
    found, x = pooled(mha(12, 6, bias=True), 2), rand(2, 5, 12)
    fused = FusedMultiHeadAttention.from_attention(found)
    assert_close(fused(x, mask=masks.causal), found(x, mask=masks.causal))


# --- a mean of numbers is not a mean of heads ------------------------------------------------


def same_heads_in_other_coordinates(n_heads=4, d_head=4):
    """All heads of a group are one head up to 5 %, each in coordinates of its own."""
    attention = mha(16, n_heads)
    project, W_O = attention.project, attention.W_O
    turns = torch.stack([torch.linalg.qr(rand(d_head, d_head))[0] for _ in range(n_heads)])
    for W in (project.W_K, project.W_V):
        heads = by_head(W, d_head)
        write(W, heads[:1] + 0.05 * heads)
    alike = {name: value.clone() for name, value in attention.state_dict().items()}
    write(project.W_K, turns @ by_head(project.W_K, d_head))
    write(project.W_Q, turns @ by_head(project.W_Q, d_head))
    write(project.W_V, turns @ by_head(project.W_V, d_head))
    parts = W_O.weight.data.unflatten(1, (n_heads, d_head))
    W_O.weight.data = torch.einsum("dhv,hwv->dhw", parts, turns).flatten(1)
    before = mha(16, n_heads)
    before.load_state_dict(alike)
    return before, attention


def test_averaging_depends_on_the_coordinates_and_alignment_does_not():
    alike, turned = same_heads_in_other_coordinates()
    x = rand(5, 16)
    assert_close(turned(x), alike(x))  # the function is the same, the numbers are not
    near, far = error(pooled(alike, 1), alike), error(pooled(turned, 1), turned)
    assert near < 0.2
    assert far > 3 * near
    repaired = error(pooled(aligned(turned, 1), 1), turned)
    assert repaired < 1.5 * near


@pytest.mark.parametrize("seed", range(5))
def test_alignment_reduces_the_error_of_random_heads(seed):
    torch.manual_seed(seed)
    attention = mha(16, 4)
    for parameter in attention.parameters():
        parameter.data *= 0.3
    assert error(pooled(aligned(attention, 2), 2), attention) < error(
        pooled(attention, 2), attention
    )


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("n_kv_heads", "words"),
    [
        (4, "n_kv_heads=4 does not divide n_heads=6; try n_kv_heads=3 or n_kv_heads=6"),
        (0, "n_kv_heads=0 is not a size; it must be at least 1"),
        (12, "n_kv_heads=12 does not divide n_heads=6"),
    ],
)
def test_groups_that_do_not_divide_are_refused(n_kv_heads, words):
    with pytest.raises(ValueError, match=words):
        pooled(mha(12, 6), n_kv_heads)


@pytest.mark.bothways
def test_a_stage_that_may_be_anything_is_refused():
    class Own(Split):
        def forward(self, q, k, v):
            return super().forward(q, k, v)

    words = "split=Own may not have heads that can be merged; .* do this before you replace"
    with pytest.raises(ValueError, match=words):
        pooled(mha(split=Own(3)), 1)
