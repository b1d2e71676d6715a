"""Exercises of chapter 07, concat."""

from collections.abc import Callable, Iterator
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

JOINED: dict[str, Callable[[Tensor], Tensor]] = {
    "A": functional.concat_heads,
    "B": lambda z: z.reshape(*z.shape[:-3], z.shape[-2], -1),
    "C": lambda z: z.permute(1, 2, 0).flatten(1),
    "D": lambda z: functional.concat_heads(z.flip(0)),
}
"""Ways to join z (head, query, d_head); A is right."""


def repairable() -> set[str]:
    """Which wrong ways another W_O makes good, whatever z is: by looking for one."""
    tables: dict[str, list[Tensor]] = {name: [] for name in JOINED}
    for seed in range(20):
        z = inputs.drawn(2, 2, 2, seed=seed)
        for name, join in JOINED.items():
            tables[name].append(join(z))
    right = torch.cat(tables["A"])
    found = set()
    for name in "BCD":
        rows = torch.cat(tables[name])
        best = torch.linalg.lstsq(rows, right).solution
        if torch.allclose(rows @ best, right, atol=1e-3):
            found.add(name)
    return found


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
    "repairable": Value(
        repairable,
        because="In C and D each row still has its own four numbers. B has lost the words.",
        wrong={
            frozenset("BCD"): "In B a row holds numbers of two words. Can a matrix part them?",
            frozenset("D"): "C has the same numbers as A in each row, only in another order.",
            frozenset("C"): "D has the same numbers as A in each row, only in another order.",
            frozenset("B"): "In B a row holds numbers of two words. What does W_O see of that?",
        },
    ),
    "mixes_up": OpenAnswer(
        misjudged, because="It tells four right layers from three that mix up the words."
    ),
}
