"""A function to write, with the mistakes that one makes on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mhsa_book import museum
from mhsa_book.exercises import other_arguments, other_results
from mhsa_book.exercises.calling import call
from mhsa_book.exercises.compare import array, difference, unusable
from mhsa_book.exercises.kinds import Function, Trial


@dataclass(frozen=True)
class FunctionWithKnownMistakes(Function):
    """A function to write; an expected mistake is answered by what went wrong in it.

    An answer makes a mistake if it does the same as that mistake on every input: the same
    numbers, or an error of the same type. Mistakes and exhibits are written down one by one;
    where none fits, the right function is tried with changed arguments, then its result
    changed in shape or order, and at last the first wrong number is described.

    Parameters
    ----------
    mistakes : functions that are wrong, and why
    exhibits : exhibits of the bug museum by name, called like the answer
    axes : names of the axes of the result, separated by spaces
    described : says in words what is wrong with a result, given arguments, expected and found
    """

    mistakes: Mapping[Callable[..., Any], str] = field(default_factory=dict)
    exhibits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    axes: str = ""
    described: Callable[[Mapping[str, Any], Any, Any], str] | None = None

    def named(self, answer: Callable[..., Any], trials: list[Trial]) -> list[str]:
        """Look for a mistake that does the same."""
        if any(_unusable(trial.call.found) for trial in trials):
            return []
        said = [why for each, why in self.mistakes.items() if _alike(each, trials)][:1]
        shown = [each for each, bug in self.exhibits.items() if _alike(bug, trials)]
        if shown:
            said.append(_named(shown))
        return said or [each for each in [self._explained(answer, trials)] if each]

    def _explained(self, answer: Callable[..., Any], trials: list[Trial]) -> str:
        """Say what an answer does that nobody has written down; "" if it is not clear."""
        if not any(trial.call.raised is None for trial in trials):
            return ""
        if other_results.is_random(answer, next(iter(self.inputs()))):
            return "Called twice with the same input, it gives two results: is dropout left on?"
        for why, change in other_arguments.changes(trials).items():
            if _alike(self._after(change), trials):
                return why
        if why := other_results.explained(trials, self.axes.split()):
            return why
        if self.described is None:
            return ""
        wrong = (t for t in trials if t.call.raised is None and t.differs)
        first = next(wrong, None)
        return self.described(first.given, first.expected, first.call.found) if first else ""

    def _after(self, change: other_arguments.Change) -> Callable[..., Any]:
        """The right function, with other arguments."""
        return lambda **given: self.reference(**change(given))


def _alike(mistake: Callable[..., Any], trials: list[Trial]) -> bool:
    """Whether a mistake does on every input what the answer did."""
    # The large inputs come last, and tell most things apart.
    return all(
        same(call(mistake, trial.given).outcome, trial.call.outcome)
        for trial in reversed(trials)
    )


def _named(exhibits: list[str]) -> str:
    """Whose output it is, and where to read more."""
    found = [museum.exhibit(each) for each in exhibits]
    said = "\nOr: ".join(f"{each.name}: {each.title}\n  {each.page}" for each in found)
    return f"It does what an exhibit of the bug museum does, {said}"


def same(one: Any, other: Any) -> bool:
    """Whether two outcomes are the same error or the same numbers."""
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    return not difference(one, array(other))


def _unusable(found: Any) -> bool:
    """Whether there is anything without numbers in a result."""
    each = found if isinstance(found, tuple | list) else [found]
    return any(unusable(one) != "" for one in each)
