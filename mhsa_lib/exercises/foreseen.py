"""A function to write, with the mistakes that one makes on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mhsa_lib.exercises.kinds import Function
from mhsa_lib.exercises.verdict import Verdict, wrong


@dataclass(frozen=True)
class Foreseen(Function):
    """A function to write; an expected mistake is answered by what went wrong in it.

    An answer makes a mistake if it gives the same numbers as that mistake where both first
    differ from ours.

    Parameters
    ----------
    mistakes : functions that are wrong, and why
    """

    mistakes: Mapping[Callable[..., Any], str] = field(default_factory=dict)

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge a function, and look for a mistake that does the same."""
        verdict = super().judge(name, answer)
        if verdict.state == "wrong":
            for mistake, why in self.mistakes.items():
                if super().judge(name, mistake) == verdict:
                    return wrong(f"{why} {verdict.text.removeprefix('Not yet. ')}")
        return verdict
