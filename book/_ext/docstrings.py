"""A Sphinx extension: our docstrings say what a name means where numpydoc expects its type.

Types and shapes are in the signature, so a parameter is one line, ``name : what it means``.
Napoleon would look that meaning up as a type, and does the same with the words before a colon
in the docstring of a property. Both are turned into plain descriptions before it reads them.
"""

import re
from typing import Any

from sphinx.application import Sphinx

FIELD = re.compile(r"^(\w+(?:, \w+)*) : (.+)$")
BARS = re.compile(r"\|(\w+)\|")  # an absolute value, which reST would read as a substitution
SECTIONS = {"Parameters", "Attributes", "Returns", "Raises"}


def describe(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite the lines of one docstring in place."""
    if what in {"property", "attribute", "data"}:
        lines[:0] = ["..", ""]  # an empty comment: a first line with no colon to split at
    described, section = [], ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            section = line
        field = FIELD.match(line) if section in SECTIONS else None
        described += [field[1], f"    {field[2]}"] if field else [line]
    lines[:] = [BARS.sub(r"\\|\1\\|", line) for line in described]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", describe, priority=400)  # napoleon is 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
