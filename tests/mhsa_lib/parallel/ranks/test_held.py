"""What a rank holds: its part of every wire, of the work, and of a cache."""

import pytest


def test_a_trace_shows_the_part_of_a_rank(ranks):
    for rank in ranks:
        whole, here = rank["shapes"]["sizes"]
        assert here == whole | {"head": 2, "kv_head": 2, "d_heads": 6, "d_kv_heads": 6}
        assert rank["shapes"]["y"] < 1e-10


def test_the_work_of_all_ranks_is_the_work_of_one_process(ranks):
    (whole, one), (_, other) = (rank["shapes"]["flops"] for rank in ranks)
    assert sum(whole.values()) > 0
    assert {wire: one[wire] + other[wire] for wire in whole} == whole


def test_weights_can_be_put_together_again(ranks):
    assert [rank["shapes"]["W_Q"] for rank in ranks] == [0, 0]


@pytest.mark.parametrize(("kind", "heads"), [("mha", 2), ("gqa", 1), ("rotary", 1)])
def test_a_cache_holds_the_heads_of_its_rank(ranks, kind, heads):
    for rank in ranks:
        far, held = rank["decoding"][kind]
        assert far < 1e-10
        assert held == heads


def test_a_latent_is_whole_on_every_rank(ranks):
    assert [rank["decoding"]["latent"][1] for rank in ranks] == [0, 0]
    assert max(rank["decoding"]["latent"][0] for rank in ranks) < 1e-10


@pytest.mark.parametrize(("kind", "heads"), [("fused", 2), ("fused gqa", 1)])
def test_so_does_the_cache_of_a_fused_attention(ranks, kind, heads):
    for rank in ranks:
        far, held = rank["decoding"][kind]
        assert far < 1e-10
        assert held == heads
