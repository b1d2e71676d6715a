"""Hints, one after the other, for every exercise; and the code of what one attention needs."""

import inspect

from mhsa_book.exercises import solutions
from mhsa_book.exercises.hints import HINTS

_next_hint: dict[str, int] = {}


def hint(name: str) -> str:
    """The next of three hints for an exercise; after the third the first comes again.

    Raises ``ValueError`` for a name that no exercise has.

    >>> hint("attend") in HINTS["attend"]
    True
    """
    if name not in HINTS:
        raise ValueError(f"{name!r} is no exercise; there are {', '.join(HINTS)}.")
    nth = _next_hint.get(name, 0)
    _next_hint[name] = (nth + 1) % len(HINTS[name])
    return HINTS[name][nth]


def solution(name: str) -> str:
    """The code of one right answer, to be printed.

    Raises ``ValueError`` for an exercise that has its solution in a chapter alone.

    >>> print(solution("score"))
    def score(q: Tensor, k: Tensor, scale: float) -> Tensor:
        \"\"\"Every query with every key.\"\"\"
        return q @ k.transpose(-2, -1) * scale
    """
    written = [each.__name__ for each in solutions.ALL]
    if name not in written:
        raise ValueError(
            f"{name!r} has no solution here; there is one for {', '.join(written)}. "
            f"The others have theirs below the exercise, in the chapter."
        )
    return inspect.getsource(getattr(solutions, name)).rstrip()
