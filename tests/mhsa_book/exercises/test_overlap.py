"""Chapter 22: heads in a ring, and a split in which v alone overlaps."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_lib import MultiHeadAttention
from mhsa_lib.shapes import Keys, Queries, WideKeys, WideQueries, WideValues
from mhsa_lib.stages import Split
from mhsa_lib.variants import OverlappedAttention
from mhsa_lib.variants.overlapped import overlap_heads


class Carrying(Split):
    def forward(self, q, k, v) -> tuple[Queries, Keys, WideValues]:
        q, k, v = super().forward(q, k, v)
        return q, k, overlap_heads(v, 1)


class Looking(Split):
    def forward(self, q, k, v) -> tuple[WideQueries, WideKeys, WideValues]:
        q, k, v = (overlap_heads(heads, 1) for heads in super().forward(q, k, v))
        return q, k, v


class Twice(Split):
    def forward(self, q, k, v) -> tuple[Queries, Keys, WideValues]:
        q, k, v = super().forward(q, k, v)
        return q, k, torch.cat([v[..., :1], v, v[..., -1:]], dim=-1)


class Far(Split):
    def forward(self, q, k, v) -> tuple[Queries, Keys, WideValues]:
        q, k, v = super().forward(q, k, v)
        return q, k, overlap_heads(v, 2)


def attention(split, rows=18, n_heads=3):
    return MultiHeadAttention(12, n_heads, split=split(n_heads), W_O=torch.nn.Linear(rows, 12))


@pytest.mark.nohook  # there attend wants v as wide as k
def test_a_split_that_carries_is_right_and_stays_as_it_was():
    carrying = attention(Carrying).double()
    before = carrying.project.W_Q.weight.clone()
    assert check("carrying", carrying)
    assert check("carrying", carrying.requires_grad_(False))
    assert torch.equal(carrying.project.W_Q.weight, before)
    assert carrying.project.W_Q.weight.dtype == torch.float64


@pytest.mark.nohook
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (attention(Carrying, 12), "concat is 18 columns wide, and W_O reads 12."),
        (attention(Looking), "q and k overlap too"),
        (OverlappedAttention(12, 3, overlap=1), "q and k overlap too"),
        (attention(Split, 12), "z is (3, 6, 4); with one more column"),
        (attention(Far, 24), "z is (3, 6, 8)"),
        (attention(Twice), "Column 0 of z of head 0 is another"),
        (attention(Split, 12, n_heads=2), "12 columns and 3 heads"),
        (Carrying(3), "Carrying is no attention"),
        (None, "NoneType is no attention"),
    ],
)
def test_a_split_that_does_something_else_is_told_what(answer, said):
    assert said in check("carrying", answer).text


def test_the_ring_is_closed_at_both_ends():
    columns = torch.arange(1, 13)
    assert check(
        "ring_of_heads", torch.cat([columns[-1:], columns, columns[:1]]).unfold(0, 6, 4)
    )
    open_ends = torch.nn.functional.pad(columns, (1, 1)).unfold(0, 6, 4)
    assert "still read zeros" in check("ring_of_heads", open_ends).text
    assert not check("ring_of_heads", torch.cat([columns[-2:], columns]).unfold(0, 6, 4))
    assert not check("ring_of_heads", open_ends.flatten())


def test_columns_may_be_numbers_of_torch():
    assert check("columns_of_head_5", (torch.tensor(76), torch.tensor(99.0), 8))
    assert "counted from 0" in check("columns_of_head_5", (60, 83, 8)).text
    assert examples.random_attention().d_head == 4  # what the other tests count on
