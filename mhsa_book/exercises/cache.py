"""Exercises of chapter 18, the cache."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book import examples
from mhsa_book.costs import configurations
from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.verdict import Verdict, right
from mhsa_book.models import repeater
from mhsa_lib import rope
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.editing import edit

LENGTH, MEMORY = 32_768, 60 * 2**30


def fit() -> int:
    """Sequences of that length whose cache fits into the memory."""
    return MEMORY // configurations.find("Qwen2.5 7B").cache_bytes(LENGTH)


def _fault_of_pairing(answer: Any) -> str:
    """What is wrong with (meta, theirs), one function with two pairings; "" if nothing."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "Hand over both, (meta, theirs)."
    meta, theirs = answer
    for said, layer in (("meta", meta), ("theirs", theirs)):
        if not isinstance(layer, MultiHeadAttention):
            return f"{said} is a {type(layer).__name__}, not an attention."
        if not isinstance(layer.split, rope.RotarySplit):
            return f"The split of {said} turns no columns; keep its RotarySplit."
    if theirs is meta:
        return "theirs is meta itself. Make another layer, and leave meta as it is."
    if _pairing(meta) != rope.INTERLEAVED:
        return "meta has changed. Meta's code turns neighbouring columns; make it again."
    if _pairing(theirs) != rope.HALVES:
        return "theirs still turns neighbouring columns."
    x = examples.random_tokens()
    with torch.no_grad():
        one, other = (layer(x.to(layer.W_O.weight)).double() for layer in (meta, theirs))
        same = torch.allclose(one, other, atol=1e-5)
    return "" if same else _fault_of_rows(meta, theirs)


def _pairing(layer: MultiHeadAttention) -> Any:
    return layer.split.rotary.pairing


def _fault_of_rows(meta: MultiHeadAttention, theirs: MultiHeadAttention) -> str:
    def kept(name: str) -> bool:
        W, V = (getattr(layer.project, name).weight for layer in (meta, theirs))
        return torch.equal(W, V.to(W))

    if all(map(kept, ("W_Q", "W_K"))):
        return "Other columns meet now, with the same numbers. Reorder the rows of W_Q and W_K."
    if not kept("W_V"):
        return "W_V has changed. Only queries and keys are turned; leave the values alone."
    for name, other in (("W_Q", "W_K"), ("W_K", "W_Q")):
        if kept(name):
            return f"{name} is as it was, and {other} is not. Both have to be reordered."
    return "y is another one: reorder the rows inside every head, with rope.reordered."


@cache
def _layer() -> nn.Module:
    """Layer 1 of the Repeater."""
    return repeater.load().layers[1]


def _rounding(rounded: Callable[[Tensor], Any]) -> tuple[int, float]:
    """Different numbers in a rounded tensor, and how much the output changes, relatively."""
    v = torch.randn(20, 64, generator=torch.Generator().manual_seed(0))
    layer, sizes = _layer(), list[int]()

    def watched(t: Tensor) -> Tensor:
        found = rounded(t.clone())
        if not isinstance(found, Tensor):
            raise TypeError(f"rounded returns a {type(found).__name__}, not a tensor")
        if found.isnan().any():
            raise ValueError("rounded returns NaN")
        sizes.append(found.unique().numel())
        return found.to(t)

    with torch.no_grad():
        y = layer(v)
        with edit(layer, "k_heads", watched), edit(layer, "v_heads", watched):
            change = (layer(v) - y).norm() / y.norm()
    return max(sizes), float(change)


def _fault_of_rounding(rounded: Any) -> str:
    """Why a rounded tensor does not fit into bytes, or is not close enough; "" if it is."""
    if not callable(rounded):
        return "Hand over a function that takes a tensor and returns one."
    n_different, change = _rounding(rounded)
    if n_different > 256:
        return f"There are {n_different} different numbers; one byte can tell 256 apart."
    if change < 0.05:
        return ""
    return (
        f"With {n_different} different numbers the output changes by {change:.0%}; less than "
        f"5 % are possible. How large is a step, and do 256 of them reach from end to end?"
    )


@dataclass(frozen=True)
class Rounded(OpenAnswer):
    """A rounding to write; a right one hears how much it changes."""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the rounding, and measure it."""
        verdict = super().judge(name, answer)
        if not verdict:
            return verdict
        return right(f"The output changes by {_rounding(answer)[1]:.1%}.")


EXERCISES: dict[str, Exercise] = {
    "kv_cache_step": FunctionWithKnownMistakes(
        reference.kv_cache_step,
        inputs.steps,
        mistakes=wrong_ways.STEPS,
        exhibits=bugs.steps(),
        learns=True,
    ),
    "grouped_attend": FunctionWithKnownMistakes(
        reference.grouped_attend,
        inputs.groups,
        mistakes=wrong_ways.GROUPS,
        exhibits=bugs.groups(),
        axes="batch head query d_head",
        learns=True,
    ),
    "sequences_that_fit": Value(
        fit,
        because="1.75 GiB for each; 34 of them are 59.5 GiB.",
        wrong={
            60 / 1.75: "A third of a sequence is none. How many whole ones?",
            35: "35 sequences are 61.25 GiB.",
            68: "A token leaves a key and a value: twice that.",
            17: "A number takes 2 bytes here, not 4.",
            4: "Only 4 of the heads have keys and values.",
            960: "That is one layer of 28.",
            31: "60 GiB are 60 · 2³⁰ bytes, more than 60 · 10⁹.",
        },
    ),
    "other_pairing": OpenAnswer(
        _fault_of_pairing,
        because="The rows of W_Q and W_K are reordered in every head: the pairs meet again.",
    ),
    "rounded": Rounded(_fault_of_rounding),
}
