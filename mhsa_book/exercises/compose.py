"""Exercises of chapter 24, compose dynamically."""

from types import EllipsisType
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.exercises.drawn_inputs import counted
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib.variants.composed import Branch


def composed() -> list[float]:
    """The numbers of a pair after one map of rank 1 and a gate, in order of the heads."""
    a = torch.tensor([0.5, 0.2, 0.3])
    w1, w2 = torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 2.0])
    gate = torch.tensor([0.0, 0.0, -0.5])
    after: list[float] = (a + (w1 @ a) * w2 + gate * a).tolist()
    return after


_SAME = torch.eye(3)
_EXCHANGED = _SAME[[1, 0, 2]]


def unlike(vote: Any) -> str | EllipsisType:
    """What is wrong with branches after which heads have their mean; dots if they add none."""
    if isinstance(vote, nn.Module) or not callable(vote):
        return "Hand over the class of your branch itself: Vote, not Vote()."
    branch = vote()
    if not isinstance(branch, Branch):
        return f"It makes {type(branch).__name__}, which is no Branch."
    if any(True for _ in branch.parameters()):
        return "It has parameters; a mean needs none."
    mix: Any = branch.mix
    for shape in ((3, 1, 2), (3, 2, 2), (2, 3, 2, 2)):
        a, x = counted(*shape), counted(*shape[:-3], shape[-1], 4)
        added = mix(a, branch({"query": x[..., : shape[-2], :], "key": x}))
        if added is ... or added is None:
            return ...
        if fault := _differs(a, added):
            return f"For weights (…, head, query, key) of {shape}: {fault}"
    return ""


def _differs(a: Tensor, added: Any) -> str:
    if not isinstance(added, Tensor):
        return f"mix gives {type(added).__name__}, which is no tensor."
    after, mean = a + added, a.mean(dim=-3, keepdim=True).expand(a.shape)
    if after.shape != a.shape:
        return f"what mix gives is {tuple(added.shape)} and cannot be added."
    if torch.allclose(after, mean):
        return ""
    if torch.allclose(after, a + mean):
        return "the mean is added to a, and a is still there."
    if torch.allclose(after, a):
        return "it adds nothing."
    if torch.allclose(after, 2 * a - mean):
        return "the sign is wrong: that leads away from the mean."
    return "the heads do not have their mean afterwards."


EXERCISES: dict[str, Exercise] = {
    "composed_numbers": Value(
        composed,
        because="0.3 of its own, 1.4 that w2 writes, and 0.15 that the gate takes.",
        wrong={
            (0.5, 0.2, 1.7): "That is without the gate, which takes half of 0.3.",
            (0.5, 0.2, 0.15): "That is the gate alone. w2 writes twice what w1 reads.",
            (0.5, 0.2, 0.85): (
                "w2 writes 2 · 0.7 to head 2, and the gate takes half of its own 0.3, not of "
                "the sum. One of the two went wrong."
            ),
            (0.0, 0.0, 1.25): "That is what is added; a itself stays.",
        },
    ),
    "heads_exchanged": Value(
        lambda: _EXCHANGED - _SAME,
        because="With a itself added, the whole map is the exchange.",
        wrong={
            _EXCHANGED: "a itself is added: heads 0 and 1 would have both.",
            _SAME - _EXCHANGED: "The signs are turned: with a added, it takes the other away.",
            _EXCHANGED - _SAME.diag().mul(torch.tensor([1.0, 1.0, 0.0])).diag(): (
                "Head 2 has itself twice: once from a, once from W_b."
            ),
            _SAME.roll(1, 0) - _SAME: "All three heads move on by one; head 2 should stay.",
        },
    ),
    "vote": OpenAnswer(unlike, because="Every head has the mean, and its rows sum to 1 again."),
}
