"""Which values of a trait may come back from a link or from the browser's storage.

A rule is JSON that stands beside a figure on its page, where ``_static/views.js`` reads it.
"""

from collections.abc import Sequence
from math import isinf
from typing import Any

from traitlets import Bool, Enum, Float, Int, TraitType

Rule = dict[str, Any]


def whole(least: int, most: int) -> Rule:
    """A whole number between two, both included.

    >>> whole(0, 11)
    {'least': 0, 'most': 11, 'whole': True}
    """
    return {"least": least, "most": most, "whole": True}


def number(least: float, most: float) -> Rule:
    """A number between two, both included."""
    return {"least": least, "most": most}


def one_of(values: Sequence[Any]) -> Rule:
    """One of some texts, numbers or booleans."""
    return {"among": [*values]}


def parts(*rules: Rule) -> Rule:
    """A list of as many items as there are rules, each by its own."""
    return {"parts": [*rules]}


def items(rule: Rule, most: int, fewest: int = 0) -> Rule:
    """A list of items that keep one rule."""
    return {"each": rule, "fewest": fewest, "most": most}


def rows(rule: Rule, n_rows: int, n_columns: int) -> Rule:
    """A matrix of a fixed size."""
    return items(items(rule, n_columns, n_columns), n_rows, n_rows)


def or_none(rule: Rule) -> Rule:
    """None too."""
    return rule | {"none": True}


def own(rule: Rule) -> Rule:
    """What a reader typed: it is kept, and left out of a link, which would be too long.

    >>> own(number(-100.0, 100.0))
    {'least': -100.0, 'most': 100.0, 'own': True}
    """
    return rule | {"own": True}


def rule_of(trait: "TraitType[Any, Any]") -> Rule | None:
    """What a trait says about itself; None where it does not say enough.

    >>> rule_of(Int(4, min=1, max=64))
    {'least': 1, 'most': 64, 'whole': True}
    >>> rule_of(Int(4, min=1)) is None
    True
    """
    if isinstance(trait, Bool):
        rule = one_of([True, False])
    elif isinstance(trait, Enum) and trait.values is not None:
        rule = one_of(trait.values or ())
    elif isinstance(trait, Int) and trait.min is not None and trait.max is not None:
        rule = whole(trait.min, trait.max)
    elif isinstance(trait, Float) and not isinf(trait.min) and not isinf(trait.max):
        rule = number(trait.min, trait.max)
    else:
        return None
    return or_none(rule) if trait.allow_none else rule
