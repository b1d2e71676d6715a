"""Shares of ranks are what shards have, what a ring sends, and what the library refuses."""

from collections import Counter

import pytest
import torch

from mhsa_book.costs.sharing import BY_HEADS, CUTS, EXCHANGED, ROUND, Layer, possible, share
from mhsa_book.parallel.comparison import ALL_TO_ALL, sent, sent_by
from mhsa_lib import MultiHeadAttention
from mhsa_lib.parallel.one_rank import divisible, shard_of
from mhsa_lib.tracing import trace
from mhsa_lib.tracing.op_recorder import Op
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention

PLAIN = Layer(16, 8, 8, 2, tokens=12)
GROUPED = Layer(16, 8, 2, 2, tokens=12)
LATENT = Layer(16, 8, 8, 2, tokens=12, d_latent=4, d_rope=2)
MODULES = {
    PLAIN: lambda: MultiHeadAttention(16, 8),
    GROUPED: lambda: GroupedQueryAttention(16, 8, 2),
    LATENT: lambda: LatentAttention(16, 8, d_latent=4, d_rope=2),
}
KEPT = {PLAIN: ("k", "v"), GROUPED: ("k", "v"), LATENT: ("latent", "k_rope")}


def kept(attention, wires, tokens=12):
    """Numbers of the wires that others look at, in a pass."""
    with trace(attention) as seen, torch.no_grad():
        attention(torch.randn(tokens, 16))
    return sum(seen[wire].numel() for wire in wires)


@pytest.mark.parametrize("layer", MODULES)
def test_by_heads_a_rank_has_what_its_shard_has(layer):
    whole = MODULES[layer]()
    for ranks in possible(layer, BY_HEADS):
        try:
            shard = shard_of(whole, 0, ranks)
        except ValueError:
            assert layer == GROUPED
            assert ranks > 2
            continue
        found = share(layer, BY_HEADS, ranks)
        assert found.matrices == 2 * sum(p.numel() for p in shard.parameters())
        assert found.kept == 2 * kept(shard, KEPT[layer])
        assert found.sent == {"sum of y": sent(2 * 12 * 16, ranks)}


def test_where_there_are_more_ranks_than_heads_of_keys_they_are_copied():
    repeated = GroupedQueryAttention(16, 8, 4)  # two heads of keys, each of them twice
    shard = shard_of(repeated, 0, ranks=4)
    found = share(GROUPED, BY_HEADS, ranks=4)
    assert found.matrices == 2 * sum(p.numel() for p in shard.parameters())
    assert found.kept == 2 * kept(shard, ("k", "v")) == share(GROUPED, BY_HEADS, 2).kept


@pytest.mark.parametrize("layer", [PLAIN, GROUPED])
def test_exchanged_a_rank_hands_over_all_but_its_own_part(layer):
    whole = MODULES[layer]()
    with trace(whole) as wires, torch.no_grad():
        whole(torch.randn(12, 16))
    for ranks in possible(layer, EXCHANGED):
        each = Counter()
        for name, wire in (("q", "q"), ("k and v", "k"), ("k and v", "v"), ("z", "z")):
            size = 2 * wires[wire].numel() // ranks
            each[name] += sent_by(Op(ALL_TO_ALL, (), (), "new memory", size, 0), ranks)
        found = share(layer, EXCHANGED, ranks)
        assert found.sent == each
        assert found.matrices == 2 * sum(p.numel() for p in whole.parameters())
        assert found.kept == 2 * kept(whole, KEPT[layer]) // ranks


@pytest.mark.nohook  # of many calls on whole numbers
@pytest.mark.parametrize("layer", MODULES)
def test_going_round_every_block_leaves_every_rank_but_the_last(layer):
    for ranks in possible(layer, ROUND):
        sends = Counter()
        for block in range(ranks):
            for step in range(ranks - 1):
                sends[(block + step) % ranks] += (
                    2 * kept(MODULES[layer](), KEPT[layer]) // ranks
                )
        found = share(layer, ROUND, ranks)
        assert {*sends.values(), 0} == {*found.sent.values(), 0}


@pytest.mark.parametrize(("layer", "cut"), [(PLAIN, BY_HEADS), (GROUPED, EXCHANGED)])
def test_what_the_library_refuses_is_refused(layer, cut):
    for ranks in range(1, 13):
        try:
            divisible(MODULES[layer](), ranks)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error).partition(";")[0]):
                share(layer, cut, ranks)
        else:
            share(layer, cut, ranks)


def test_one_process_sends_nothing_and_what_cannot_be_is_said():
    for cut in CUTS:
        assert set(share(PLAIN, cut, 1).sent.values()) == {0}
    with pytest.raises(ValueError, match="cannot be exchanged by heads; cut by heads"):
        share(LATENT, EXCHANGED, 2)
    with pytest.raises(
        ValueError, match=r"5 ranks cannot share tokens=12 evenly.*1, 2, 3, 4, 6"
    ):
        share(PLAIN, ROUND, 5)
    with pytest.raises(ValueError, match="cut='rows' is unknown"):
        share(PLAIN, "rows", 1)
