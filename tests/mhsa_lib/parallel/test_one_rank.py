"""Any group of heads is an attention, and the groups add up to the whole."""

import pytest
import torch

from mhsa_lib import FusedMultiHeadAttention, LatentAttention, MultiHeadAttention, rope
from mhsa_lib.parallel.one_rank import divisible, shard_of
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.sharded import KINDS, LATENT, drawn


@pytest.mark.parametrize("kind", KINDS | LATENT)
@pytest.mark.parametrize("n", [1, 2])
def test_shards_add_up(kind, n):
    whole, x = drawn(kind)
    parts = [shard_of(whole, rank, n)(x) for rank in range(n)]
    torch.testing.assert_close(sum(parts), whole(x))
    assert all(type(whole) is type(shard_of(whole, rank, n)) for rank in range(n))


def test_a_shard_is_a_copy():
    whole, _ = drawn("mha")
    before = whole.W_O.weight.clone()
    part = shard_of(whole, 0, 1)
    torch.nn.init.zeros_(part.W_O.weight)
    assert torch.equal(whole.W_O.weight, before)
    assert part.W_O.weight.is_contiguous()


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_that_does_not_exist_has_no_shard(rank):
    with pytest.raises(ValueError, match=f"rank={rank} is not one of 2; it must be 0 to 1"):
        shard_of(MultiHeadAttention(12, 4), rank, 2)


def test_a_fused_shard_has_the_kind_of_the_whole():
    whole = FusedMultiHeadAttention(12, 4, n_kv_heads=2, bias=True).double()
    part = shard_of(whole, 1, 2)
    assert (part.n_heads, part.n_kv_heads, part.d_head) == (2, 1, 3)
    assert not part.W_O.bias.any()


# --- what cannot be sharded


def test_every_rank_needs_whole_heads_of_both_kinds():
    gqa = GroupedQueryAttention(24, 12, 6)
    for n in (1, 2, 3, 6):
        divisible(gqa, n)
    with pytest.raises(ValueError, match=r"n_kv_heads=6 evenly.*: 1, 2, 3, 6; for more"):
        divisible(gqa, 4)
    with pytest.raises(ValueError, match=r"n_heads=12 evenly.*: 1, 2, 3, 6\.$"):
        divisible(gqa, 5)
    with pytest.raises(ValueError, match="ranks=0 is not a size"):
        divisible(gqa, 0)


def test_stages_that_may_mix_heads_are_refused():
    latent = LatentAttention(12, 4, d_latent=4, d_rope=2)
    divisible(latent, 2)
    latent.split.W_UV = torch.nn.Sequential(latent.split.W_UV, torch.nn.Linear(12, 12))
    with pytest.raises(ValueError, match=r"split.W_UV=Sequential may mix its heads"):
        divisible(latent, 2)


def test_parameters_that_all_heads_use_are_refused():
    norm = torch.nn.LayerNorm(6)
    split = rope.RotarySplit(2, rope.Rotary(6), q_norm=norm)
    with pytest.raises(ValueError, match="split=RotarySplit has parameters that all heads use"):
        divisible(MultiHeadAttention(12, 2, split=split), 2)
