"""Masks in exported programs: made of lengths that come later, or given as an argument."""

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from tests.helpers.drawn import filled, rand

pytestmark = pytest.mark.nohook

KINDS = [MultiHeadAttention, FusedMultiHeadAttention]
LENGTHS, OTHERS = torch.tensor([3, 5]), torch.tensor([0, 2])
IDS, OTHER_IDS = torch.tensor([[0, 0, 1, 1, 1], [4, 4, 4, 4, -1]]), torch.zeros(2, 5).long()


def attention(kind):
    torch.manual_seed(0)
    return filled(kind(12, 3).double().eval().requires_grad_(False))


def of_key_padding(lengths, n):
    return torch.tensor([[[[key < end for key in range(n)]] * n] for end in lengths.tolist()])


def of_causal_padding(lengths, n):
    return torch.tensor(
        [
            [[[key <= query < end for key in range(n)] for query in range(n)]]
            for end in lengths.tolist()
        ]
    )


def of_documents(ids, n):
    return torch.tensor(
        [[[[one == other >= 0 for other in row] for one in row]] for row in ids.tolist()]
    )


class Masked(nn.Module):
    """Makes its mask from what it is given, in its forward."""

    def __init__(self, attention, rule):
        super().__init__()
        self.attention, self.rule = attention, rule

    def forward(self, x, numbers):
        return self.attention(x, mask=self.rule(numbers))


def causal_padding(lengths):
    return masks.causal & masks.padding(lengths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("rule", "dense", "first", "later"),
    [
        (masks.key_padding, of_key_padding, LENGTHS, OTHERS),
        (causal_padding, of_causal_padding, LENGTHS, OTHERS),
        (masks.documents, of_documents, IDS, OTHER_IDS),
    ],
)
def test_an_exported_program_reads_the_lengths_of_each_call(
    kind, strict, rule, dense, first, later
):
    if strict and rule is causal_padding:
        pytest.skip("dynamo cannot make a dataclass of one that it finds as a default")
    module, x = attention(kind), rand(2, 5, 12)
    stages = module if kind is MultiHeadAttention else module.to_attention()
    program = export(Masked(module, rule), (x, first), strict=strict).module()
    for numbers in (first, later, first):
        expected = stages(x, mask=dense(numbers, 5))
        assert_close(program(x, numbers), expected, rtol=0, atol=1e-12)


def test_lengths_may_be_mapped_over():
    module, x, lengths = attention(MultiHeadAttention), rand(3, 2, 5, 12), torch.tensor([2, 5])
    each = torch.stack([lengths, lengths - 1, lengths - 2])
    found = torch.func.vmap(Masked(module, masks.key_padding))(x, each)
    for y, one, numbers in zip(found, x, each, strict=True):
        assert_close(y, module(one, mask=of_key_padding(numbers, 5)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "mask",
    [masks.causal, masks.sliding_window(2), masks.key_padding([3, 4]) & masks.causal],
    ids=str,
)
def test_a_mask_is_an_argument_of_an_exported_program(kind, strict, mask):
    module, x = attention(kind), rand(2, 5, 12)
    program = export(module, (x,), {"mask": mask}, strict=strict).module()
    stages = module if kind is MultiHeadAttention else module.to_attention()
    expected = stages(x, mask=mask.dense(5, 5))
    assert_close(program(x, mask=mask), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"expected|mismatch|spec"):
        program(x, mask=masks.prefix(2))


def test_a_mask_as_an_argument_holds_for_any_length():
    module, mask = attention(MultiHeadAttention), masks.sliding_window(3)
    shapes = ({1: Dim.DYNAMIC}, None, [])
    program = export(module, (rand(2, 5, 12), None, mask), dynamic_shapes=shapes).module()
    for n in (2, 7, 40):
        x = rand(2, n, 12)
        expected = module(x, mask=mask.dense(n, n))
        assert_close(program(x, None, mask), expected, rtol=0, atol=1e-12)


# --- no sequence, no document ----------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", [masks.key_padding, masks.padding])
@pytest.mark.parametrize("empty", [[], (), torch.empty(0, dtype=torch.int64)])
def test_an_empty_batch_has_an_empty_list_of_lengths(kind, rule, empty):
    assert rule(empty) == rule([])
    assert attention(kind)(rand(0, 5, 12), mask=rule(empty)).shape == (0, 5, 12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [[], [[], []]])
def test_a_row_without_tokens_has_no_ids(kind, ids):
    assert attention(kind)(rand(2, 0, 12), mask=masks.documents(ids)).shape == (2, 0, 12)


def test_each_sequence_may_have_a_prefix_of_its_own():
    mask = masks.causal | masks.key_padding([1, 3])
    for found, n in zip(mask.dense(4, 4), (1, 3), strict=True):
        rows = [[key < n or key <= query for key in range(4)] for query in range(4)]
        assert found[0].tolist() == rows
