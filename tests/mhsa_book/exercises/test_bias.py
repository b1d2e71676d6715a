"""Chapter 03a: the biases that can be folded, and those that matter."""

import pytest
import torch

from mhsa_book.exercises import check
from mhsa_lib import MultiHeadAttention


def test_the_folded_bias_is_the_one_of_a_layer():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(6, 2, bias=True), torch.randn(1, 5, 6)
    b_V, W_O, b_O = layer.project.W_V.bias, layer.W_O.weight.T, layer.W_O.bias
    with torch.no_grad():
        b_V.normal_()
        b_O.normal_()
        y, alone = layer(x), b_V @ W_O + b_O
        b_V.zero_()
        b_O.copy_(alone)
        assert torch.allclose(layer(x), y, atol=1e-5)
    assert check("folded_bias", lambda b_V, W_O, b_O: torch.einsum("i,ij->j", b_V, W_O) + b_O)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda b_V, W_O, b_O: b_V + b_O, "passes through W_O"),
        (lambda b_V, W_O, b_O: b_V @ W_O, "is lost"),
    ],
)
def test_another_bias_is_refused_with_its_reason(answer, said):
    assert said in check("folded_bias", answer).text


def test_a_spread_that_was_measured_is_the_one_asked_for():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 768, generator=generator)
    Q, K = (0.02 * torch.randn(768, 64, generator=generator) for _ in range(2))
    measured = ((x @ Q) @ (x @ K).T / 8).std().item()
    assert measured == pytest.approx(768 * 0.02**2, rel=0.05)
    assert check("first_spread", 0.3072)


def test_with_a_rotation_the_bias_of_the_keys_matters():
    assert check("biases_that_matter", {"b_Q", "b_K"})
    assert "without rotation" in check("biases_that_matter", {"b_Q"}).text
