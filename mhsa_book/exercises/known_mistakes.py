"""A function to write, with the mistakes that one makes on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mhsa_book import museum
from mhsa_book.exercises.compare import difference
from mhsa_book.exercises.kinds import Function
from mhsa_book.exercises.verdict import Verdict, wrong


@dataclass(frozen=True)
class FunctionWithKnownMistakes(Function):
    """A function to write; an expected mistake is answered by what went wrong in it.

    An answer makes a mistake if it does the same as that mistake on every input: the same
    numbers, or an error of the same type.

    Parameters
    ----------
    mistakes : functions that are wrong, and why
    exhibits : exhibits of the bug museum by name, called like the answer
    """

    mistakes: Mapping[Callable[..., Any], str] = field(default_factory=dict)
    exhibits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge a function, and look for a mistake that does the same."""
        verdict = super().judge(name, answer)
        if verdict.state != "wrong" or not callable(answer):
            return verdict
        said = [why for each, why in self.mistakes.items() if self._alike(answer, each)][:1]
        shown = [each for each, bug in self.exhibits.items() if self._alike(answer, bug)]
        if shown:
            said.append(_named(shown))
        return wrong("\n".join([*said, verdict.text.removeprefix("Not yet. ")]))

    def _alike(self, answer: Callable[..., Any], mistake: Callable[..., Any]) -> bool:
        """Whether two functions do the same, each on inputs of its own."""
        tried = zip(self.inputs(), self.inputs(), strict=True)
        return all(same(outcome(answer, one), outcome(mistake, two)) for one, two in tried)


def _named(exhibits: list[str]) -> str:
    """Whose output it is, and where to read more."""
    found = [museum.exhibit(each) for each in exhibits]
    said = "\nOr: ".join(f"{each.name}: {each.title}\n  {each.page}" for each in found)
    return f"It does what an exhibit of the bug museum does, {said}"


def outcome(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What a function returns, or the type of its error."""
    try:
        return function(**arguments)
    except Exception as error:  # whatever a reader's code raises is their answer
        return type(error)


def same(one: Any, other: Any) -> bool:
    """Whether two outcomes are the same error or the same numbers."""
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    return not difference(one, other)
