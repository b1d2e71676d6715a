"""Say whether an answer is right; never stop a notebook."""

from typing import Any

from mhsa_book.exercises import (
    chapter_00,
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
    chapter_12a,
    chapter_12b,
    chapter_13,
    chapter_14,
    chapter_15,
    chapter_16,
    chapter_17,
    chapter_18,
    chapter_19,
    chapter_20,
    chapter_21,
    chapter_22,
    chapter_23,
    chapter_24,
    chapter_25,
    chapter_26,
    chapter_27,
    core,
    experiments,
    own,
    quick,
)
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.verdict import Verdict, unfilled, wrong

ROOMS = (
    core,
    experiments,
    own,
    quick,
    chapter_00,
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
    chapter_12a,
    chapter_12b,
    chapter_13,
    chapter_14,
    chapter_15,
    chapter_16,
    chapter_17,
    chapter_18,
    chapter_19,
    chapter_20,
    chapter_21,
    chapter_22,
    chapter_23,
    chapter_24,
    chapter_25,
    chapter_26,
    chapter_27,
)
EXERCISES: dict[str, Exercise] = {
    name: each for room in ROOMS for name, each in room.EXERCISES.items()
}


def check(name: str, answer: Any = ...) -> Verdict:
    """Judge the answer to an exercise: unfilled, right, or where it differs from a right one.

    It raises nothing, whatever the answer is, so that *Run all* goes on.

    >>> check("split_heads")
    split_heads: put your answer in the place of the dots.
    >>> check("split_heads", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)))
    ... # doctest: +ELLIPSIS
    Not yet. The numbers differ. The smallest input that shows it:
      x = tensor([[[1., 2., 3., 4.],
    ...
    """
    if name not in EXERCISES:
        return wrong(f"There is no exercise {name!r}; there are {', '.join(EXERCISES)}.")
    return unfilled(name) if _has_dots(answer) else EXERCISES[name].judge(name, answer)


def _has_dots(answer: Any) -> bool:
    """Whether an answer, or a part of it, is still the dots of the stub."""
    return answer is ... or (
        isinstance(answer, list | tuple) and any(_has_dots(part) for part in answer)
    )
