"""Two processes give the numbers of one."""

import pytest

from tests.helpers.sharded import BY_TOKENS, CROSSED, KINDS, LATENT


@pytest.mark.parametrize("kind", KINDS | LATENT)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
def test_outputs_and_gradients_are_those_of_one_process(ranks, kind, dtype, tolerance):
    for rank in ranks:
        differences = rank["equal"][f"{kind}, torch.{dtype}"]
        assert {"output", "gradient of x", "W_O.weight"} <= differences.keys()
        assert max(differences.values()) < tolerance


@pytest.mark.parametrize("kind", CROSSED)
def test_so_they_are_for_cross_attention_with_masks_and_named_arguments(ranks, kind):
    for rank in ranks:
        assert max(rank["calls"][kind]) < 1e-10


@pytest.mark.parametrize("kind", KINDS | LATENT)
def test_a_step_of_training_leaves_them_equal_and_what_is_frozen_stays_so(ranks, kind):
    for rank in ranks:
        far, learns = rank["learning"][kind]
        assert far < 1e-10
        assert not learns


@pytest.mark.parametrize("kind", ["mha", "fused"])
def test_without_the_sum_forward_the_output_is_another(ranks, kind):
    for rank in ranks:
        differences, differs = rank["left_out"][f"{kind}, forward"]
        assert differs
        assert differences.pop("output") > 0.1
        assert max(differences.values()) < 1e-10  # dL/dy was given, W_O is linear


@pytest.mark.parametrize("kind", ["mha", "fused"])
def test_without_the_sum_backward_only_the_layers_below_would_notice(ranks, kind):
    for rank in ranks:
        differences, differs = rank["left_out"][f"{kind}, backward"]
        assert differs
        assert differences.pop("gradient of x") > 0.1
        assert max(differences.values()) < 1e-10


@pytest.mark.parametrize("kind", BY_TOKENS)
def test_blocks_of_tokens_give_the_numbers_of_one_process_too(ranks, kind):
    for rank in ranks:
        differences, masked, names, _ = rank["by_tokens"][kind]
        assert {"output", "gradient of x", "project.W_K.weight"} <= differences.keys()
        assert max(differences.values()) < 1e-10
        assert max(masked) < 1e-10
        assert names == ["all_reduce", "all_to_all_single"]


@pytest.mark.parametrize(("kind", "key_heads"), [("mha", 4), ("gqa", 2)])
def test_an_exchange_moves_a_block_of_queries_keys_values_and_outputs(ranks, kind, key_heads):
    block = 2 * 3 * 3 * 8  # sequences, own tokens, columns of a head, bytes
    for rank in ranks:
        *_, sent = rank["by_tokens"][kind]
        assert sent == [block * heads for heads in (4, key_heads, key_heads, 4)]
