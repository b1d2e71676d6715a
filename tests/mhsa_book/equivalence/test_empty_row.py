"""Each implementation is attention; and what each answers for a row with nothing to look at."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book.equivalence import empty_row
from mhsa_lib import functional, masks

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
FOUND = {answer.implementation: answer[1:] for answer in empty_row.answers()}


@pytest.mark.parametrize("name", empty_row.IMPLEMENTATIONS)
def test_where_every_row_sees_something_all_implementations_agree(name):
    q, k = torch.randn(2, 7, 7)
    v, may_look = torch.randn(7, 7), masks.causal.dense(7, 7)
    wanted = (
        functional.softmax(functional.score(q[None], k[None], 7**-0.5), may_look[None])[0] @ v
    )
    found = empty_row.IMPLEMENTATIONS[name](q, k, v, may_look)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("this book", ("zeros", "finite")),
        ("softmax after −inf", ("NaN", "NaN")),
        ("softmax after −1e9", ("equal", "finite")),
    ],
)
def test_what_does_not_depend_on_the_version_of_torch(name, wanted):
    assert FOUND[name] == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("SDPA, boolean mask", ("zeros", "finite")),
        ("SDPA, mask of 0 and −inf", ("zeros", "finite")),
        ("nn.MultiheadAttention", ("NaN", "NaN")),
        ("nn.MultiheadAttention, need_weights=False", ("zeros", "finite")),
    ],
)
@pytest.mark.skipif(VERSION != (2, 13), reason="seen on torch 2.13; figures run it anew")
def test_what_torch_2_13_does_on_a_cpu(name, wanted):
    assert FOUND[name] == wanted


def test_the_answers_are_those_of_torch_called_directly():
    """Other sizes, several heads, no identity for values; the same words for the same facts."""
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    may_look = torch.ones(5, 5, dtype=torch.bool)
    may_look[2] = False
    additive = torch.zeros(5, 5).masked_fill(~may_look, float("-inf"))
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 5, 8)
    rows = {
        "SDPA, boolean mask": sdpa(q, k, v, attn_mask=may_look)[..., 2, :],
        "SDPA, mask of 0 and −inf": sdpa(q, k, v, attn_mask=additive)[..., 2, :],
        "nn.MultiheadAttention": module(x, x, x, attn_mask=~may_look)[0][0, 2],
        "nn.MultiheadAttention, need_weights=False": (
            module(x, x, x, attn_mask=~may_look, need_weights=False)[0][0, 2]
            - module.out_proj.bias
        ),
    }
    for name, row in rows.items():
        word = "NaN" if row.isnan().any() else "zeros" if not row.any() else "other"
        assert FOUND[name][0] == word, name


def test_a_weight_that_is_neither_is_called_other(monkeypatch):
    def halves(q, k, v, may_look):
        return torch.tensor([[0.5, 0.25, 0.25]] * 3) @ v + 0 * k.sum()

    monkeypatch.setattr(empty_row, "IMPLEMENTATIONS", {"mine": halves})
    assert empty_row.answers(3) == [empty_row.Answer("mine", "other", "finite")]
