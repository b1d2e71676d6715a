"""The worked example as it can be redone with pencil and paper."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import examples, naive
from mhsa_lib import trace


@pytest.fixture
def worked():
    x, mha = examples.worked()
    with trace(mha) as wires:
        mha(x)
    return x, mha, {name: value.detach() for name, value in wires.items()}


WORKED = {
    "q_heads": [[[0.0, 1.45], [-0.95, -0.45]], [[2.05, -0.50], [-0.27, 0.94]]],
    "k_heads": [[[1.0, 0.5], [-0.5, 1.0]], [[-1.0, 2.0], [0.3, -2.0]]],
    "v_heads": [[[1.0, -1.0], [-0.5, 0.3]], [[0.5, 2.0], [1.0, -2.0]]],
    "scores": [[[0.5127, 1.0253], [-0.8309, 0.0177]], [[-2.1567, 1.1420], [1.5203, -1.3866]]],
    "weights": [[[0.3746, 0.6254], [0.2997, 0.7003]], [[0.0356, 0.9644], [0.9482, 0.0518]]],
    "z": [[[0.0619, -0.1869], [-0.0504, -0.0897]], [[0.9822, -1.8575], [0.5259, 1.7927]]],
    "concat": [[0.0619, -0.1869, 0.9822, -1.8575], [-0.0504, -0.0897, 0.5259, 1.7927]],
    "y": [[-1.9542, 1.4544, -0.2180, 2.3746], [1.4215, -0.5899, 0.6234, -0.9772]],
}


@pytest.mark.parametrize("wire", WORKED)
def test_every_number_of_the_worked_example(worked, wire):
    _, _, wires = worked
    assert_close(wires[wire], torch.tensor(WORKED[wire]).double(), atol=6e-5, rtol=0)


def test_the_first_entry_of_q_by_hand():
    x, mha = examples.worked()
    W_Q = mha.project.W_Q.weight.T
    assert W_Q[:, 0].tolist() == [0.1, -0.2, 1.0, 0.5]
    assert 1 * 0.1 + 0.5 * -0.2 + -1 * 1.0 + 2 * 0.5 == pytest.approx((x @ W_Q)[0, 0].item())


def test_the_loops_say_the_same(worked):
    x, mha, wires = worked
    assert_close(naive.loops(mha, x), wires["y"])
