"""A whole model's work is that of its layers, and its limits are those of a machine."""

import pytest
import torch
from torch import nn

from mhsa_book.costs import configurations, whole_model
from mhsa_book.costs.whole_model import LLAMA_8B
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
