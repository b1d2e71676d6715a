"""A whole model's work is that of its layers, and its limits are those of a machine."""

import pytest
import torch
from torch import nn

from mhsa_book.costs import configurations, whole_model
from mhsa_book.costs.whole_model import LLAMA_8B, SMOLLM2
from mhsa_lib import trace_ops
from mhsa_lib.variants import GroupedQueryAttention

H100 = 989e12, 3.35e12


def total(work, what):
    return sum(getattr(part, what) for part in work.values())


def test_flops_of_a_layer_are_those_that_torch_counts():
    small = configurations.Configuration("small", 3, 16, 4, 2, 4)
    model, n = whole_model.Model(small, d_ff=24, vocabulary=50), 10
    attention = GroupedQueryAttention(16, 4, 2)
    up, gate, down = (
        nn.Linear(16, 24, False),
        nn.Linear(16, 24, False),
        nn.Linear(24, 16, False),
    )
    x = torch.randn(n, 16)

    def layer():
        y = attention(x)
        return down(up(y) * gate(y))

    work = model._work(n, n, 1)
    words = 2 * 16 * 50
    assert total(work, "flops") == 3 * trace_ops(layer).flops + words


def test_a_prompt_looks_back_only_and_that_is_all_that_is_halved():
    whole, seen = LLAMA_8B._work(1000, 1000, 1), LLAMA_8B.prompt(1000)
    assert seen["scores + mix"].flops * 2000 == whole["scores + mix"].flops * 1001
    assert {**seen, "scores + mix": 0} == {**whole, "scores + mix": 0}


def test_a_token_reads_all_weights_but_the_embedding_and_its_cache_once():
    learned = LLAMA_8B.parameters()
    read = 2 * (sum(learned.values()) - learned["embedding"] - learned["norms"])
    read += LLAMA_8B.attention.cache_bytes(4096)
    assert read < total(LLAMA_8B.token(4096), "bytes") < 1.001 * read


def test_a_batch_shares_weights_and_no_cache():
    one, many = LLAMA_8B.token(8192), LLAMA_8B.token(8192, batch=64)
    assert many["feed-forward"].bytes < 1.05 * one["feed-forward"].bytes
    assert many["scores + mix"].bytes == 64 * one["scores + mix"].bytes
    alone = whole_model.tokens_per_second(one, 1, *H100)
    assert whole_model.tokens_per_second(many, 64, *H100) > 5 * alone


@pytest.mark.parametrize("given", [{"n_tokens": 0}, {"n_tokens": 5, "batch": 0}])
def test_sizes_are_sizes(given):
    with pytest.raises(ValueError, match="=0 is not a size"):
        LLAMA_8B.prompt(**given)


def test_a_token_of_smollm2_reads_its_own_numbers_once():
    """In float32: all of them but the norms, and the cache, within the bytes of activations."""
    learned = SMOLLM2.parameters()
    assert sum(learned.values()) == 134_515_008
    read = 4 * (sum(learned.values()) - learned["norms"])
    read += SMOLLM2.attention.cache_bytes(300, itemsize=4)
    assert read < total(SMOLLM2.token(300, itemsize=4), "bytes") < 1.01 * read


def test_a_predicted_speed_is_bytes_over_bandwidth_below_the_ridge_and_flops_over_peak_above():
    token, prompt = SMOLLM2.token(300, itemsize=4), SMOLLM2.prompt(300, itemsize=4)
    slow, fast = (1e18, 12e9), (92e9, 1e18)  # one limit each
    assert whole_model.tokens_per_second(token, 1, *slow) == pytest.approx(
        12e9 / total(token, "bytes")
    )
    assert whole_model.tokens_per_second(prompt, 300, *fast) == pytest.approx(
        300 * 92e9 / total(prompt, "flops")
    )


def test_bytes_of_a_number_change_bytes_and_no_flops():
    two, four = SMOLLM2.token(300), SMOLLM2.token(300, itemsize=4)
    assert total(four, "bytes") == 2 * total(two, "bytes")
    assert total(four, "flops") == total(two, "flops")
