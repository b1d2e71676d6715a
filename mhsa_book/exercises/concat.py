"""Exercises of chapter 07, concat."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises import bugs, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import functional
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import Concat, Split

N_HEADS, D_HEAD, COLUMN = 8, 64, 200


def owner() -> tuple[int, int]:
    """Which head wrote the column of ``concat``, and which of its numbers it is."""
    head, number = (torch.arange(N_HEADS * D_HEAD).view(N_HEADS, D_HEAD) == COLUMN).nonzero()[0]
    return int(head), int(number)


LAID_OUT = {
    "A": ((1, 2, 5, 3), (30, 15, 3, 1)),
    "B": ((4, 2, 5, 3), (30, 3, 6, 1)),
    "C": ((4, 2, 1, 3), (6, 3, 3, 1)),
    "D": ((4, 2, 5, 3), (40, 4, 8, 1)),
}


def views() -> set[str]:
    """Which ways to lay out ``z`` let concat be a view, by trying."""
    return {
        name
        for name, (shape, strides) in LAID_OUT.items()
        if _merges(torch.zeros(160).as_strided(shape, strides))
    }


def _merges(z: Tensor) -> bool:
    try:
        z.transpose(1, 2).view(z.shape[0], z.shape[2], -1)
    except RuntimeError:
        return False
    return True


class MixedSplit(Split):
    """Cut without exchanging words and heads: a row of a head is a piece of some word."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Any:
        return tuple(
            rows.reshape(*rows.shape[:-2], self.n_heads, rows.shape[-2], -1)
            for rows in (q, k, v)
        )


class MixedConcat(Concat):
    """Merge without exchanging heads and words: a row mixes the findings of several words."""

    def forward(self, z: Tensor) -> Any:
        return z.reshape(*z.shape[:-3], z.shape[-2], -1)


HINTS = {
    "both mistakes at once": (
        " There head 0 holds words 0, 1 and a piece of word 2, and puts them back in place:"
        " what happens among these words shows nothing."
    )
}


def _layers() -> Iterator[tuple[str, MultiHeadAttention, bool]]:
    """Attentions, and whether they mix up the words; random weights, the same every time."""
    split, concat = MixedSplit(3), MixedConcat()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for said, wide, stages, mixes in (
            ("three heads, all right", None, {}, False),
            ("a concat that merges without the exchange", None, {"concat": concat}, True),
            ("a split that cuts without the exchange", None, {"split": split}, True),
            ("both mistakes at once", None, {"split": split, "concat": concat}, True),
            ("three heads of five columns, all right", 5, {}, False),
        ):
            yield said, MultiHeadAttention(12, 3, d_head=wide, **stages), mixes
        yield "one head, all right", MultiHeadAttention(12, 1), False
    yield "the attention of the example", examples.attention(), False


def misjudged(mixes_up: Any) -> str:
    """Say which layer a test of layers judges wrongly; "" if none."""
    if not callable(mixes_up):
        return "It has to be a function of a layer."
    for said, layer, mixes in _layers():
        with torch.no_grad():
            found = mixes_up(layer.eval())
        if found is ... or found is None:
            return "It returns nothing yet; return True or False."
        if bool(found) != mixes:
            return f"For {said}, it says {bool(found)}.{HINTS.get(said, '')}"
    return ""


EXERCISES: dict[str, Exercise] = {
    "concat_heads": FunctionWithKnownMistakes(
        functional.concat_heads,
        inputs.heads,
        mistakes=wrong_ways.CONCATS,
        exhibits=bugs.concats(),
        axes="batch seq d_model",
        learns=True,
    ),
    "owner_of_column": Value(
        owner,
        because="200 = 3 · 64 + 8: three heads stand before it, and eight numbers of its own.",
        wrong={
            (25, 0): "Divide by the width of a head, 64; there are only 8 heads.",
            (4, 8): "We count heads from 0.",
            (3, 9): "We count numbers from 0.",
            (8, 3): "First the head, then the number.",
        },
    ),
    "views": Value(
        views,
        because="In B and C a step to the next head is 3, as long as a head.",
        wrong={
            frozenset("B"): "C has one word; there too a step to the next head is 3.",
            frozenset("ABC"): "In A a step to the next head is 15, even in a single sentence.",
            frozenset("BCD"): "In D a step to the next head is 4, and a head has 3 numbers.",
            frozenset("AD"): "These are the ones that need a copy.",
        },
    ),
    "mixes_up": OpenAnswer(
        misjudged, because="It tells four right layers from three that mix up the words."
    ),
}
