"""Attention written unaided: a class, tried as a function of its weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.conversions.fill import fill
from mhsa_book.exercises import bugs
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.compare import shown
from mhsa_book.exercises.drawn_inputs import drawn, matrices
from mhsa_book.exercises.kinds import Exercise, Function
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.reference import cross_attention, multi_head_attention
from mhsa_book.exercises.verdict import Verdict, unfilled, wrong


@dataclass(frozen=True)
class Module:
    """A class to write, ``MyAttention(d_model, n_heads)``, called with x, context and mask.

    Parameters
    ----------
    whole : the exercise to write the same as a function
    with_context : the same, with keys and values from elsewhere
    """

    whole: FunctionWithKnownMistakes
    with_context: Function

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the class as a function; before that, whether it is one, and written."""
        if not (isinstance(answer, type) and issubclass(answer, nn.Module)):
            return wrong(f"{shown(answer)} is no class of nn.Module; hand over the class.")
        if answer.forward is nn.Module.forward:
            return unfilled(name)
        function = called(answer)
        verdict = self.whole.judge(name, function)
        crossed = self.with_context.judge(name, function) if verdict else verdict
        if verdict and not crossed:
            return wrong(
                f"Without a context it is right. {crossed.text.removeprefix('Not yet. ')}"
            )
        return verdict


def called(build: type[nn.Module]) -> Any:
    """A class as a function of everything: its weights, its inputs."""

    def function(
        x: Tensor,
        W_Q: Tensor,
        W_K: Tensor,
        W_V: Tensor,
        W_O: Tensor,
        n_heads: int,
        mask: Tensor | None,
        context: Tensor | None = None,
    ) -> Any:
        weights = {"W_Q": W_Q.mT, "W_K": W_K.mT, "W_V": W_V.mT, "W_O": W_O.mT}
        module = fill(build(x.shape[-1], n_heads), weights)
        with torch.no_grad():
            return module(x, mask=mask) if context is None else module(x, context, mask)

    return function


def two_sequences() -> Iterator[dict[str, Any]]:
    """Tokens and a context of another length, with and without a mask."""
    for n_query, n_key, d_model, n_heads, mask in (
        (1, 2, 2, 1, None),
        (2, 3, 4, 2, torch.tensor([[True, True, False], [False, True, True]])),
        (5, 4, 12, 3, None),
    ):
        x, context = drawn(2, n_query, d_model), drawn(2, n_key, d_model, seed=9)
        given = {"x": x, "context": context, **matrices(d_model, d_model)}
        yield {**given, "n_heads": n_heads, "mask": mask}


EXERCISES: dict[str, Exercise] = {
    "MyAttention": Module(
        FunctionWithKnownMistakes(
            multi_head_attention,
            inputs.whole,
            because="Equal on every input. Now put it into the comparison table.",
            exhibits=bugs.wholes(),
        ),
        Function(cross_attention, two_sequences),
    )
}
