"""The stage that turns queries and keys, and the positions it gives them."""

import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, masks, trace
from mhsa_lib.rope.rotary import HALVES, Rotary, RotarySplit, token_positions
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.rope.inputs import at, each


def test_queries_are_the_last_positions_of_the_keys():
    query, key = token_positions(None, 2, 5, torch.zeros(1))
    assert (query.tolist(), key.tolist()) == ([3, 4], [0, 1, 2, 3, 4])
    given = at(7, 8)
    assert token_positions(given, 2, 2, torch.zeros(1)) == [given, given]


@each
def test_the_stage_turns_every_head_of_queries_and_keys_and_no_value(pairing):
    rotary = Rotary(4, pairing=pairing)
    attention, x = mha(split=RotarySplit(3, rotary)), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    assert_close(wires["q_rotated"], rotary(wires["q_heads"], torch.arange(5)))
    assert_close(wires["k_rotated"], rotary(wires["k_heads"], torch.arange(5)))
    plain = MultiHeadAttention(12, 3).double()
    plain.load_state_dict(attention.state_dict())
    with trace(plain) as expected:
        plain(x)
    for name in ("q_heads", "k_heads", "v_heads"):
        assert torch.equal(wires[name], expected[name])


def test_shifting_all_positions_changes_nothing():
    attention, x = mha(split=RotarySplit(3, Rotary(4))), rand(2, 5, 12)
    q, k, v = attention.project(x, x)
    for shift in (0, 3, 1000):
        q_rotated, k_rotated, v_heads = attention.split(q, k, v, torch.arange(5) + shift)
        z = attention.attend(q_rotated, k_rotated, v_heads, masks.causal)
        assert_close(attention.W_O(attention.concat(z)), attention(x, mask=masks.causal))


def test_without_positions_order_does_not_matter_and_with_them_it_does():
    x, order = rand(2, 5, 12), [3, 0, 4, 1, 2]
    plain, turned = mha(), mha(split=RotarySplit(3, Rotary(4)))
    assert_close(plain(x[:, order]), plain(x)[:, order])
    assert not torch.allclose(turned(x[:, order]), turned(x)[:, order])


def test_norms_act_on_every_head_before_it_turns():
    split = RotarySplit(3, Rotary(4), q_norm=nn.RMSNorm(4), k_norm=nn.RMSNorm(4))
    attention, x = mha(split=split), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    for rows, turned, norm in (
        ("q", "q_rotated", split.q_norm),
        ("k", "k_rotated", split.k_norm),
    ):
        heads = wires[rows].unflatten(-1, (3, 4)).transpose(-2, -3)
        size = heads.square().mean(dim=-1, keepdim=True).sqrt()
        by_hand = heads / size * norm.weight
        assert_close(wires[turned], Rotary(4)(by_hand, torch.arange(5)))


def test_nothing_is_learned_and_nothing_is_saved():
    assert list(Rotary(4).parameters()) == []
    assert Rotary(4).state_dict() == {}
    assert mha(split=RotarySplit(3, Rotary(4))).state_dict().keys() == mha().state_dict().keys()


def test_it_says_what_it_is():
    assert repr(Rotary(4, 500.0, HALVES)) == "Rotary(4, base=500, pairing=halves)"
    assert "n_heads=4, n_kv_heads=2" in repr(RotarySplit(4, Rotary(2), 2))
