"""What heads that share their columns are, and how they begin."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, trace
from mhsa_lib.variants import CollaborativeAttention
from tests.helpers.drawn import rand


def test_each_score_is_the_sum_over_shared_columns_that_the_paper_writes():
    layer = CollaborativeAttention(6, 2, 5).double()
    x, context = rand(3, 6), rand(4, 6)
    with trace(layer) as wires:
        layer(x, context)
    W_Q, W_K, W_C = (
        W.weight.T for W in (layer.project.W_Q, layer.project.W_K, layer.content.W_C)
    )
    for head in range(2):
        for query in range(3):
            for key in range(4):
                dot = sum(
                    (x[query] @ W_Q[:, d])
                    * layer.split.mixing[head, d]
                    * (context[key] @ W_K[:, d])
                    for d in range(5)
                )
                score = (dot + context[key] @ W_C[:, head]) / (5 / 2) ** 0.5
                assert_close(wires["scores"][head, query, key], score)


def test_equal_rows_of_mixing_and_content_make_equal_heads():
    layer = CollaborativeAttention(12, 3, 6, mixing=torch.ones(3, 6))
    nn.init.zeros_(layer.content.W_C.weight)
    with trace(layer) as wires:
        layer(torch.randn(5, 12))
    assert torch.equal(wires["weights"][0], wires["weights"][1])
    assert torch.equal(wires["weights"][0], wires["weights"][2])


def test_it_begins_as_the_released_code_does():
    layer = CollaborativeAttention(768, 12, 192)
    assert layer.attend.scale == pytest.approx(16**-0.5)
    assert layer.split.mixing.std().item() == pytest.approx(0.2, rel=0.1)
    assert layer.split.mixing.mean().item() == pytest.approx(0, abs=0.02)
    assert layer.project.W_Q.bias is layer.project.W_K.bias is layer.content.W_C.bias is None


def test_the_rank_of_a_heads_scores_is_no_longer_bounded_by_d_head():
    plain, shared = MultiHeadAttention(16, 8).double(), CollaborativeAttention(16, 8).double()
    nn.init.zeros_(shared.content.W_C.weight)
    x, ranks = rand(16, 16), {}
    for layer in (plain, shared):
        with trace(layer) as wires:
            layer(x)
        ranks[layer] = torch.linalg.matrix_rank(wires["scores"]).tolist()
    assert ranks == {plain: [2] * 8, shared: [16] * 8}
