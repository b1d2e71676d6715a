"""Attention written unaided: a class, tried as a function of its weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.conversions.fill import fill
from mhsa_book.exercises import bugs
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.compare import shown
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.reference import multi_head_attention
from mhsa_book.exercises.verdict import Verdict, unfilled, wrong


@dataclass(frozen=True)
class Module:
    """A class to write, ``MyAttention(d_model, n_heads)``, called with x, context and mask.

    Parameters
    ----------
    whole : the exercise to write the same as a function
    """

    whole: FunctionWithKnownMistakes

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the class as a function; before that, whether it is one, and written."""
        if not (isinstance(answer, type) and issubclass(answer, nn.Module)):
            return wrong(f"{shown(answer)} is no class of nn.Module; hand over the class.")
        if answer.forward is nn.Module.forward:
            return unfilled(name)
        return self.whole.judge(name, called(answer))


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
    ) -> Any:
        weights = {"W_Q": W_Q.mT, "W_K": W_K.mT, "W_V": W_V.mT, "W_O": W_O.mT}
        module = fill(build(x.shape[-1], n_heads), weights)
        with torch.no_grad():
            return module(x, mask=mask)

    return function


EXERCISES: dict[str, Exercise] = {
    "MyAttention": Module(
        FunctionWithKnownMistakes(
            multi_head_attention,
            inputs.whole,
            because="Equal on every input. Now put it on the wall.",
            exhibits=bugs.wholes(),
        )
    )
}
