"""Faults that are known and not mended yet. Each line goes when its fault goes.

A pattern is searched in the key of a finding: target | way | what. ``case`` shows the fault;
``test_attack.py`` fails, in its slow part, once it does not: then the line is to be deleted.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    fault: str
    pattern: str
    case: str


KNOWN: tuple[Known, ...] = ()


def known(key: str) -> Known | None:
    """The known fault that a finding of this key is, None for a new one."""
    return next((each for each in KNOWN if re.search(each.pattern, key)), None)
