"""Kinds of exercises: a value to find, a function to write, something to invent."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from mhsa_book.exercises.calling import Call, OutOfTime, call, copies, words
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
class Trial:
    """One input, what is right for it, and what came of the answer.

    Parameters
    ----------
    given : the arguments by name, as they were before the call
    expected : the right result
    call : what the answer returned or raised, on arguments of its own
    """

    given: dict[str, Any]
    expected: Any
    call: Call

    @property
    def differs(self) -> str:
        """How the result differs from the right one; "" if it does not."""
        if isinstance(self.call.raised, OutOfTime):
            return f"It does not end: {self.call.raised}"
        if self.call.raised is not None:
            return f"It raises {words(self.call.raised)}"
        return difference(self.call.found, self.expected)

    @property
    def damage(self) -> str:
        """Which arguments the answer changed; "" if none."""
        names = " and ".join(self.call.damaged)
        return f"It changes {names}, which whoever called it may still need." if names else ""

    def __str__(self) -> str:
        given = "\n".join(f"  {key} = {shown(value)}" for key, value in self.given.items())
        if self.call.raised is not None:
            return f"{self.differs}\nfor\n{given}"
        return (
            f"{self.differs} The smallest input that shows it:\n{given}\n"
            f"right: {shown(self.expected)}\nyours: {shown(self.call.found)}"
        )


@dataclass(frozen=True)
class Function:
    """A function to write, compared with ours on inputs that grow.

    Parameters
    ----------
    reference : a right answer
    inputs : makes the arguments by name, the smallest first
    because : what to say when it is right
    learns : whether it is a part of a model, so that gradients have to pass through it
    """

    reference: Callable[..., Any]
    inputs: Callable[[], Iterable[dict[str, Any]]]
    because: str = ""
    learns: bool = field(default=False, kw_only=True)

    def judge(self, name: str, answer: Any) -> Verdict:
        """Find the smallest input on which a function differs from ours."""
        if not callable(answer):
            return wrong(f"{shown(answer)} is no function; define {name}(…) and hand it over.")
        trials = self.trials(answer)
        for trial in trials:
            if trial.call.raised is None and _is_empty(trial.call.found):
                return unfilled(name)
            if trial.differs:
                return wrong("\n".join([*self._said(answer, trials, trial), str(trial)]))
        for trial in trials:
            if trial.damage:
                return wrong(f"The numbers are right, but its input is spoilt. {trial.damage}")
        if self.learns and (fault := fault_of_gradient(answer, self.inputs())):
            return wrong(f"The numbers are right. {fault}")
        said = self.because or f"Equal on {len(trials)} inputs."
        if self.learns and not _are_tensors(trials[0].call.found):
            said += " (As NumPy numbers: in a model no gradient would pass through them.)"
        return right(said)

    def _said(self, answer: Any, trials: list[Trial], trial: Trial) -> list[str]:
        if trial.damage:
            return [trial.damage]
        try:
            return self.named(answer, trials)
        except RecursionError:  # a list that holds itself cannot be compared
            return []

    def trials(self, answer: Callable[..., Any]) -> list[Trial]:
        """Call an answer on every input, or until it does not end."""
        trials: list[Trial] = []
        for given in self.inputs():
            trials.append(Trial(given, self.reference(**copies(given)), call(answer, given)))
            if isinstance(trials[-1].call.raised, OutOfTime | KeyboardInterrupt):
                break
        return trials

    def named(self, answer: Callable[..., Any], trials: list[Trial]) -> list[str]:
        """Say in words which mistake an answer makes, where that is known."""
        return []


def fault_of_gradient(answer: Callable[..., Any], inputs: Iterable[dict[str, Any]]) -> str:
    """Why nothing can be learned through a function whose numbers are right; "" if it can."""
    with torch.inference_mode(False), torch.enable_grad():  # whatever the notebook has set
        return next((said for given in inputs if (said := _lost(answer, given))), "")


def _lost(answer: Callable[..., Any], given: dict[str, Any]) -> str:
    """Why no gradient comes back to one input; "" if one does."""
    leaves = {
        key: value.requires_grad_()
        for key, value in given.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    }
    called = call(answer, given)
    if called.raised is not None:
        said = words(called.raised)
        if "numpy()" in said:  # NumPy takes no tensor that has a gradient
            return ""
        return f"But where its input has a gradient, it raises {said}."
    if not _are_tensors(called.found):
        return ""
    results = [called.found] if isinstance(called.found, Tensor) else called.found
    if not all(result.requires_grad for result in results):
        return "But nothing can be learned through it: the result has lost its gradient."
    try:
        gradients = torch.autograd.grad(
            [result.sum() for result in results], [*leaves.values()], allow_unused=True
        )
    except RuntimeError as error:
        return f"Their gradient raises RuntimeError: {str(error).split(': ')[0]}."
    if any(each is not None and each.isnan().any() for each in gradients):
        return "Their gradient is NaN: something divides 0 by 0 on the way back."
    return ""


def _is_empty(found: Any) -> bool:
    return found is ... or found is None


def _are_tensors(found: Any) -> bool:
    each = found if isinstance(found, tuple | list) else [found]
    return all(isinstance(one, Tensor) for one in each)


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
        except (Exception, SystemExit) as error:  # an answer of another kind than asked for
            return wrong(f"Trying it raises {words(error)}")
        if fault is ...:
            return unfilled(name)
        return wrong(fault) if fault else right(self.because)
