"""What an exhibit is, and how a wrong part becomes one."""

import difflib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from torch import Tensor

from mhsa_book.museum import problems
from mhsa_book.museum.parts import RIGHT, Part, Parts, Setting

Problem = Callable[[Parts, Setting], Tensor]
"""Gives a tensor that is another one with wrong parts."""

Check = Callable[[Parts, Setting], bool]
"""True if an attention passes; an error that it raises is a failure too."""

SYMPTOMS = {
    "error": "It raises an error.",
    "nan": "NaN or infinity comes out.",
    "leaks": "A token sees what it must not: it reads better than it writes.",
    "worse": "It runs and trains, and learns less.",
    "in use": "Training does not show it; evaluation or generation does.",
    "converted": "It trains as well as the right one, and fails with weights made elsewhere.",
    "elsewhere": "The shared task does not show it; another length, size or use does.",
}
"""What a user notices, by short names."""

STAGES = ("project", "split", "attend", "mask", "positions", "cache", "concat", "W_O", "around")
"""Where in the pass; "around" is what stands outside of it."""


class Wild(NamedTuple):
    """Where it happened: an address, whose it is, and what happened there.

    ``exact`` is False where the thread shows a near relative of the mistake.
    """

    url: str
    project: str
    what: str
    exact: bool


@dataclass(frozen=True)
class Exhibit:
    """A working wrong implementation.

    Parameters
    ----------
    name : what it is called, a name of Python
    title : the mistake in one sentence
    stage : one of ``STAGES``
    symptom : one of ``SYMPTOMS``
    parts : the wrong functions, by the names of ``Parts``; the first one is ``wrong``
    setting : the attention in which it shows
    problem : the input on which its result differs from the right one
    check : the cheapest check that finds it
    """

    name: str
    title: str
    stage: str
    symptom: str
    parts: dict[str, Part]
    setting: Setting
    problem: Problem
    check: Check

    @property
    def wrong(self) -> Part:
        """The wrong function, called like the right one."""
        return next(iter(self.parts.values()))

    @property
    def right(self) -> Part:
        """The function that it stands for."""
        return getattr(RIGHT, next(iter(self.parts)))

    @property
    def label(self) -> str:
        """Its anchor on the page of all exhibits.

        >>> from mhsa_book import museum
        >>> museum.exhibit("W_O_forgotten").label
        'exhibit-w-o-forgotten'
        """
        return f"exhibit-{self.name.lower().replace('_', '-')}"

    @property
    def page(self) -> str:
        """Where it stands in the published book, with its lines and addresses."""
        return f"{PAGE}#{self.label}"

    @property
    def all_parts(self) -> Parts:
        """An attention with the mistake in it."""
        return RIGHT.having(**self.parts)

    @property
    def found(self) -> tuple[Wild, ...]:
        """Where it was found in the wild, the best case first."""
        return tuple(Wild(**case) for case in _wild()[self.name])

    def found_by(self, check: Check) -> bool:
        """Whether a check lets the right attention pass, in this setting, and not this one.

        >>> from mhsa_book import museum
        >>> from mhsa_book.museum import cheap_checks
        >>> museum.exhibit("mask_inverted").found_by(cheap_checks.the_future_is_hidden)
        True
        """
        return _right_passes(check, self.setting) and not _passes(
            check, self.all_parts, self.setting
        )

    @property
    def diff(self) -> str:
        """Lines that go and lines that come, marked - and +, of every part that differs."""
        each = [_diff(getattr(RIGHT, name), wrong, name) for name, wrong in self.parts.items()]
        return "\n".join(each)


PAGE = "https://mhsa-book.github.io/mhsa/book/exhibits.html"
"""All exhibits on one page, with what was measured of each."""

WILD = Path(__file__).parent / "wild.json"
"""Cases by exhibit, in our words."""

CATALOGUE: dict[str, Exhibit] = {}
"""All exhibits by name, in the order of their rooms."""


def exhibit(
    part: str,
    *,
    stage: str,
    symptom: str,
    check: Check,
    problem: Problem = problems.a_pass,
    setting: Setting | None = None,
    also: dict[str, Part] | None = None,
) -> Callable[[Part], Part]:
    """Put a wrong part into the catalogue, under its own name; the title is its docstring."""

    def enter(wrong: Part) -> Part:
        name, title = wrong.__name__, inspect.cleandoc(str(wrong.__doc__)).splitlines()[0]
        CATALOGUE[name] = Exhibit(
            name,
            title,
            stage,
            symptom,
            {part: wrong, **({} if also is None else also)},
            Setting() if setting is None else setting,
            problem,
            check,
        )
        return wrong

    return enter


@cache
def _right_passes(check: Check, setting: Setting) -> bool:
    return _passes(check, RIGHT, setting)


def _passes(check: Check, parts: Parts, setting: Setting) -> bool:
    try:
        return check(parts, setting)
    except (RuntimeError, IndexError):  # an error is a failure too
        return False


@cache
def _wild() -> dict[str, list[dict[str, Any]]]:
    return json.loads(WILD.read_text(encoding="utf-8"))


def _diff(right: Part, wrong: Part, name: str) -> str:
    before, after = _lines(right, name), _lines(wrong, name)
    lines = difflib.ndiff(before, after)
    return "\n".join(line.rstrip() for line in lines if not line.startswith("?"))


def _lines(part: Part, name: str) -> list[str]:
    """A part under the right one's name: its arguments, and its lines without the docstring."""
    source = dedent(inspect.getsource(part))
    _, _, body = source.rpartition('"""')
    if '"""' not in source:
        _, _, body = source.partition(":\n")
    arguments = ", ".join(inspect.signature(part).parameters)
    return [f"def {name}({arguments}):", *(line for line in body.splitlines() if line.strip())]
