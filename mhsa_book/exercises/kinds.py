"""Kinds of exercises: a value to find, a function to write, something to invent."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Protocol, runtime_checkable

from mhsa_book.exercises.compare import difference, shown
from mhsa_book.exercises.verdict import Verdict, right, unfilled, wrong


@runtime_checkable
class Exercise(Protocol):
    """Something that can judge an answer, whatever the answer is."""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Say what an answer to the exercise of this name is worth."""


@dataclass(frozen=True)
class Value:
    """A number, a word, a tensor or a set to find.

    Parameters
    ----------
    right : computes the answer, so that it is never typed
    because : what to say when it is found
    wrong : what to say about an expected mistake, by its value
    """

    right: Callable[[], Any]
    because: str = ""
    wrong: Mapping[Any, str] = field(default_factory=dict)

    def judge(self, name: str, answer: Any) -> Verdict:
        """Compare a value; tensors and floats to five digits."""
        differs = difference(answer, self.right())
        if not differs:
            return right(self.because)
        known = [why for value, why in self.wrong.items() if not difference(answer, value)]
        return wrong(known[0] if known else f"{shown(answer)} is not it.")


@dataclass(frozen=True)
class Function:
    """A function to write, compared with ours on inputs that grow.

    Parameters
    ----------
    reference : a right answer
    inputs : makes the arguments by name, the smallest first
    because : what to say when it is right
    """

    reference: Callable[..., Any]
    inputs: Callable[[], Iterable[dict[str, Any]]]
    because: str = ""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Find the smallest input on which a function differs from ours."""
        if not callable(answer):
            return wrong(f"{shown(answer)} is no function; define {name}(…) and hand it over.")
        inputs = list(self.inputs())
        for arguments in inputs:
            given = "\n".join(f"  {key} = {shown(value)}" for key, value in arguments.items())
            expected = self.reference(**arguments)
            try:
                found = answer(**arguments)
            except Exception as error:  # whatever a reader's code raises is their answer
                return wrong(f"It raises {type(error).__name__}: {error}\nfor\n{given}")
            if found is ... or found is None:
                return unfilled(name)
            if differs := difference(found, expected):
                return wrong(
                    f"{differs} The smallest input that shows it:\n{given}\n"
                    f"right: {shown(expected)}\nyours: {shown(found)}"
                )
        return right(self.because or f"Equal on {len(inputs)} inputs.")


@dataclass(frozen=True)
class OpenAnswer:
    """Anything that does what was asked.

    Parameters
    ----------
    fault : says what is wrong with an answer; "" for nothing, dots for one that has them still
    because : what to say when nothing is
    """

    fault: Callable[[Any], str | EllipsisType]
    because: str = ""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Try the answer out."""
        try:
            fault = self.fault(answer)
        except Exception as error:  # an answer of another kind than asked for
            return wrong(f"Trying it raises {type(error).__name__}: {error}")
        if fault is ...:
            return unfilled(name)
        return wrong(fault) if fault else right(self.because)
