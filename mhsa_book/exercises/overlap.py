"""Exercises of chapter 22, overlap."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.copying import copied
from mhsa_lib.tracing.wires import trace
from mhsa_lib.variants.overlapped import OverlappedSplit, overlap_heads

N_HEADS, D_HEAD, OVERLAP, HEAD = 12, 16, 4, 5
COLUMNS = torch.arange(1, 13)


def reads() -> tuple[int, int, int]:
    """First and last column that a head reads, and how many of them the next one reads too."""
    columns = torch.arange(float(N_HEADS * D_HEAD))[None]
    wide = OverlappedSplit(N_HEADS, OVERLAP)(columns, columns, columns)[0][:, 0]
    both = torch.isin(wide[HEAD], wide[HEAD + 1]).sum()
    return int(wide[HEAD, 0]), int(wide[HEAD, -1]), int(both)


def ring() -> Tensor:
    """Columns 1 to 12 as three heads of 4 that read one more on each side, around a ring."""
    place = 4 * torch.arange(3)[:, None] + torch.arange(-1, 5)
    return COLUMNS[place % len(COLUMNS)]


def _windows(*parts: Tensor, step: int = 4) -> Tensor:
    return torch.cat(parts).unfold(0, 6, step)


def unlike(carrying: Any) -> str:
    """What is wrong with an attention in which v alone should overlap; "" if nothing."""
    if not isinstance(carrying, MultiHeadAttention):
        return f"{type(carrying).__name__} is no attention; pass your split to one."
    plain, carrying = examples.random_attention(), copied(carrying).float()
    if carrying.d_model != plain.d_model or carrying.n_heads != plain.n_heads:
        return "Make it for 12 columns and 3 heads, like the running attention."
    carrying.project.load_state_dict(plain.project.state_dict())
    x = examples.random_tokens()
    rows = carrying.split(*carrying.project(x, x))[2].shape[-1] * carrying.n_heads
    if carrying.W_O.in_features != rows:
        return f"concat is {rows} columns wide, and W_O reads {carrying.W_O.in_features}."
    with torch.no_grad(), trace(plain) as old, trace(carrying) as new:
        plain(x), carrying(x)
    if not torch.allclose(new["weights"], old["weights"], atol=1e-5):
        return "The weights are no longer those of plain attention: q and k overlap too."
    if new["z"].shape != (3, 6, 6):
        return f"z is {tuple(new['z'].shape)}; with one more column a side it is (3, 6, 6)."
    wanted = old["weights"] @ overlap_heads(old["v_heads"], 1)
    wrong = ~torch.isclose(new["z"], wanted, atol=1e-5).all(dim=1)
    for head, column in wrong.nonzero().tolist():
        return f"Column {column} of z of head {head} is another than its v, or a neighbour's."
    return ""


EXERCISES: dict[str, Exercise] = {
    "columns_of_head_5": Value(
        reads,
        because="Four columns behind the border and four before it are in both heads.",
        wrong={
            (80, 95, 0): "Those are its own columns; it reads four more on each side.",
            (76, 99, 4): "Each of the two heads lends four columns to the other.",
            (76, 100, 8): "Column 100 is the first that it does not read.",
            (60, 83, 8): "That is head 4: heads are counted from 0.",
        },
    ),
    "ring_of_heads": Value(
        ring,
        because="No head wastes a column now, and none is at an end.",
        wrong={
            _windows(COLUMNS[:1] * 0, COLUMNS, COLUMNS[:1] * 0): "The ends still read zeros.",
            _windows(COLUMNS[:1], COLUMNS, COLUMNS[-1:]): (
                "The ends read a column of their own twice; take it from the other end."
            ),
            _windows(COLUMNS[-1:], COLUMNS, COLUMNS[:1], step=6): (
                "The ring is closed. The next head begins 4 columns on, not 6."
            ),
        },
    ),
    "carrying": OpenAnswer(
        unlike, because="It looks as plain attention does, and carries its neighbours' values."
    ),
}
