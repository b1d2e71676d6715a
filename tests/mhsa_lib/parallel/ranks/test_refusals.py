"""What cannot be sharded is refused before anything is changed."""

import pytest


def test_heads_that_do_not_divide_are_refused_before_anything_is_changed(ranks):
    said = "2 ranks cannot share n_heads=3 evenly; possible numbers of ranks: 1, 3. kept"
    for rank in ranks:
        assert rank["refusals"]["n_heads"] == rank["refusals"]["fused"] == said


def test_so_are_fewer_key_heads_than_ranks(ranks):
    for rank in ranks:
        assert rank["refusals"]["n_kv_heads"] == (
            "2 ranks cannot share n_kv_heads=1 evenly; possible numbers of ranks: 1; for more, "
            "repeat each head of keys and values first. kept"
        )


def test_so_is_a_mesh_of_several_axes(ranks):
    for rank in ranks:
        assert rank["refusals"]["mesh"].startswith("mesh has 2 axes; heads are sharded along")


def test_so_is_what_is_shared_already(ranks):
    for rank in ranks:
        assert rank["refusals"]["twice"] == (
            "MultiHeadAttention is sharded among ranks already; pass one that is whole. kept"
        )


REFUSED = {
    "latent heads": "2 ranks cannot share n_heads=3 evenly",
    "latent part": "split.W_UK=ParametrizedLinear may mix its heads",
    "tokens, heads": "ValueError: 2 ranks cannot share n_heads=3 evenly",
    "tokens, keys": "ValueError: 2 ranks cannot share n_kv_heads=1 evenly",
    "tokens, positions": "ValueError: split=RotarySplit may need the positions of all tokens",
    "tokens, latent": "ValueError: project=LatentProject may need the positions",
    "tokens, fused": "TypeError: FusedMultiHeadAttention may need the positions",
    "tokens, mesh": "ValueError: mesh has 2 axes; tokens are cut along one",
    "tokens, uneven": "ValueError: ranks hold [3, 2] queries and [3, 2] keys; give every rank",
}


@pytest.mark.parametrize("name", REFUSED)
def test_so_is_what_would_be_another_function(ranks, name):
    for rank in ranks:
        assert rank["refusals"][name].startswith(REFUSED[name])
