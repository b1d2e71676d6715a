"""Other weights, same function: turned heads, aligned heads, the other pairing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_book.conversions.align import aligned, procrustes
from mhsa_book.conversions.grouping import by_head, key_heads
from mhsa_book.conversions.merging import write
from mhsa_book.conversions.pairing import with_pairing
from mhsa_lib import masks
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED, Rotary, RotarySplit
from mhsa_lib.stages import Split
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled, mha, rand


def orthogonal(d_head):
    return torch.linalg.qr(rand(d_head, d_head))[0]


def grouped(**options):
    return filled(GroupedQueryAttention(12, 6, 3, **options).double())


BUILD = {
    "plain": lambda: mha(12, 6),
    "with biases": lambda: mha(12, 6, d_head=4, bias=True),
    "grouped": lambda: grouped(bias=True),
    "rotary": lambda: mha(12, 3, d_head=6, bias=True, split=RotarySplit(3, Rotary(6))),
    "rotary, grouped, halves": lambda: grouped(
        d_head=4, split=RotarySplit(6, Rotary(4, pairing=HALVES), 3)
    ),
}


def apart(attention, n_kv_heads):
    """How far the key heads, and the value heads, of a group lie from their mean."""
    found = []
    for W in (attention.project.W_K, attention.project.W_V):
        groups = by_head(W, attention.d_head).unflatten(0, (n_kv_heads, -1))
        found.append((groups - groups.mean(dim=1, keepdim=True)).norm().item())
    return found


@pytest.mark.parametrize("kind", BUILD)
def test_alignment_does_not_change_the_function(kind):
    attention, x = BUILD[kind](), rand(2, 5, 12)
    turned = aligned(attention, 1)
    assert not torch.allclose(turned.project.W_K.weight, attention.project.W_K.weight)
    assert not torch.allclose(turned.project.W_V.weight, attention.project.W_V.weight)
    difference = turned(x, mask=masks.causal) - attention(x, mask=masks.causal)
    assert difference.abs().max().item() <= 1e-10


@pytest.mark.parametrize("kind", BUILD)
def test_every_round_brings_the_heads_closer(kind):
    attention = BUILD[kind]()
    distances = [apart(attention, 1)]
    distances += [apart(aligned(attention, 1, n_rounds), 1) for n_rounds in (1, 2, 5, 10)]
    for closer, farther in zip(distances[2:], distances[1:-1], strict=True):
        assert all(a <= b + 1e-12 for a, b in zip(closer, farther, strict=True))
    assert all(a < b for a, b in zip(distances[-1], distances[0], strict=True))


def test_heads_that_are_turns_of_each_other_become_equal():
    """A key head, its query head and the value head in coordinates of their own."""
    attention, x = mha(12, 3, bias=True), rand(5, 12)
    project = attention.project
    turns = torch.stack([torch.eye(4).double(), orthogonal(4), orthogonal(4)])
    for W in (project.W_K, project.W_V):
        write(W, turns @ by_head(W, 4)[:1])
    assert apart(attention, 1)[0] > 1
    turned = aligned(attention, 1)
    assert max(apart(turned, 1)) < 1e-10
    assert_close(turned(x), attention(x))


def test_with_positions_only_turns_in_a_plane_are_undone():
    """By any orthogonal matrix the keys would fit better, and the function would be another."""
    attention = mha(12, 2, d_head=6, split=RotarySplit(2, Rotary(6, base=10.0)))
    W_K = attention.project.W_K
    turn = torch.block_diag(*(_plane(angle) for angle in (0.4, 1.3, -2.0)))
    write(W_K, torch.stack([torch.eye(6).double(), turn]) @ by_head(W_K, 6)[:1])
    assert apart(aligned(attention, 1), 1)[0] < 1e-10
    write(W_K, torch.stack([torch.eye(6).double(), orthogonal(6)]) @ by_head(W_K, 6)[:1])
    assert apart(aligned(attention, 1), 1)[0] > 0.1


def _plane(angle):
    angle = torch.tensor(angle).double()
    return torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)


@given(st.integers(1, 5), st.integers(1, 7))
def test_procrustes_is_orthogonal_and_no_other_turn_comes_closer(d_head, columns):
    heads, target = rand(d_head, columns), rand(d_head, columns)
    turn = procrustes(heads, target)
    assert_close(turn @ turn.mT, torch.eye(d_head).double())
    best = (turn @ heads - target).norm()
    for _ in range(10):
        assert best <= (orthogonal(d_head) @ heads - target).norm() + 1e-12


@pytest.mark.parametrize(("old", "new"), [(INTERLEAVED, HALVES), (HALVES, INTERLEAVED)])
def test_the_other_pairing_has_other_weights_and_the_same_function(old, new):
    norms = {"q_norm": nn.RMSNorm(4), "k_norm": nn.RMSNorm(4)}
    split = RotarySplit(6, Rotary(4, pairing=old), 3, **norms)
    attention, x = grouped(d_head=4, bias=True, split=split), rand(2, 5, 12)
    other = with_pairing(attention, new)
    assert other.split.rotary.pairing is new
    assert attention.split.rotary.pairing is old
    assert not torch.equal(other.project.W_Q.weight, attention.project.W_Q.weight)
    assert_close(other(x, mask=masks.causal), attention(x, mask=masks.causal))
    assert torch.equal(with_pairing(other, old)(x), attention(x))


def test_only_the_weights_or_only_the_pairing_is_another_function():
    attention, x = mha(split=RotarySplit(3, Rotary(4))), rand(5, 12)
    expected = attention(x)
    attention.split.rotary.pairing = HALVES
    assert (attention(x) - expected).abs().max() > 0.01


@pytest.mark.parametrize("change", [lambda a: aligned(a, 1), lambda a: with_pairing(a, HALVES)])
def test_the_source_stays_as_it_was(change):
    attention = BUILD["rotary"]()
    before = {name: value.clone() for name, value in attention.state_dict().items()}
    change(attention)
    assert all(torch.equal(before[n], value) for n, value in attention.state_dict().items())


def test_heads_of_keys_are_counted():
    assert [key_heads(build()) for build in BUILD.values()] == [6, 6, 3, 3, 3]


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
def test_groups_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="n_kv_heads=4 does not divide n_heads=6"):
        aligned(mha(12, 6), 4)
    with pytest.raises(ValueError, match="n_rounds=0 is not a size; it must be at least 1"):
        aligned(mha(12, 6), 2, n_rounds=0)


@pytest.mark.bothways
def test_a_stage_that_may_be_anything_is_refused():
    class Own(Split):
        def forward(self, q, k, v):
            return super().forward(q, k, v)

    words = "split=Own may not have heads that can be merged; only Split or GroupedSplit or"
    with pytest.raises(ValueError, match=words):
        aligned(mha(split=Own(3)), 1)


@pytest.mark.bothways
def test_norms_of_heads_stand_in_the_way_of_a_turn():
    split = RotarySplit(3, Rotary(4), k_norm=nn.RMSNorm(4))
    words = "q_norm and k_norm weigh single columns, so a turned head is another head"
    with pytest.raises(ValueError, match=words):
        aligned(mha(split=split), 1)


@pytest.mark.bothways
def test_without_positions_there_is_no_pairing():
    with pytest.raises(
        ValueError, match="split=Split turns no columns; pass an attention with"
    ):
        with_pairing(mha(), HALVES)
