"""Say whether an answer is right; never stop a notebook."""

import ast
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from mhsa_book.exercises.calling import words
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.verdict import Verdict, unfilled, wrong


def check(name: str, answer: Any = ...) -> Verdict:
    """Judge the answer to an exercise: unfilled, right, or where it differs from a right one.

    It raises nothing, whatever the answer is, so that *Run all* goes on.

    >>> check("split_heads")
    split_heads: put your answer in the place of the dots.
    >>> check("split_heads", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)))
    ... # doctest: +ELLIPSIS
    Not yet. The axes are (batch, seq, head, d_head); asked for is (batch, head, seq, d_head).
    The numbers differ. The smallest input that shows it:
      x = tensor([[[1., 2., 3., 4.],
    ...
    """
    if name not in modules():
        return wrong(f"There is no exercise {name!r}; there are {', '.join(modules())}.")
    try:
        return unfilled(name) if _has_dots(answer) else exercise(name).judge(name, answer)
    except (Exception, SystemExit) as error:  # whatever a reader hands over is an answer
        return wrong(f"It cannot be judged: to look at it raises {words(error)}")


def exercise(name: str) -> Exercise:
    """Return the exercise of a name; only the module that holds it is imported."""
    found: Exercise = import_module(f"{__package__}.{modules()[name]}").EXERCISES[name]
    return found


@cache
def modules() -> dict[str, str]:
    """Return which module of this package holds each exercise, by the exercise's name.

    >>> modules()["softmax"]
    'attend'
    """
    # The names are read from the source: some modules load a model when they are imported,
    # and a reader who checks one answer should not wait for all of them.
    found: dict[str, str] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            for name in _names(file.read_text(encoding="utf-8")):
                if name in found:
                    raise ValueError(
                        f"{name!r} is an exercise in {found[name]} and {file.name}."
                    )
                found[name] = file.name.removesuffix(".py")
    return found


def _names(source: str) -> list[str]:
    """Return the keys of the dictionary ``EXERCISES`` at the top of a module, if it has one."""
    return [
        ast.literal_eval(key)
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
        if isinstance(node.target, ast.Name) and node.target.id == "EXERCISES"
        for key in node.value.keys
        if key is not None
    ]


def _has_dots(answer: Any) -> bool:
    """Whether an answer, or a part of it, is still the dots of the stub."""
    return answer is ... or (
        isinstance(answer, list | tuple) and any(_has_dots(part) for part in answer)
    )
