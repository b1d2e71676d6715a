"""A variant beside plain attention: the five stages, and the source of what changes.

Read from the classes themselves, so it cannot say anything else than what runs.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import zip_longest
from typing import Any

from torch import nn

from mhsa_lib.attention import MultiHeadAttention

STAGES = ("project", "split", "attend", "concat", "W_O")


class Difference:
    """What a variant changes, as a table of stages and two columns of source; it draws itself.

    ``variant`` is an attention with the five stages; ``plain`` what it is compared with, by
    default a ``MultiHeadAttention`` of the same sizes.

    >>> from mhsa_lib.variants import GroupedQueryAttention
    >>> difference = Difference(GroupedQueryAttention(12, 6, 2))
    >>> [stage for stage, (a, b) in difference.stages.items() if a != b]
    ['split', 'attend']
    >>> difference.changed_lines
    []
    """

    def __init__(self, variant: nn.Module, plain: nn.Module | None = None) -> None:
        if plain is None:
            plain = MultiHeadAttention(variant.d_model, variant.n_heads, d_head=variant.d_head)  # type: ignore[arg-type]
        self.variant, self.plain = variant, plain

    @property
    def stages(self) -> dict[str, tuple[str, str]]:
        """Class of each stage, plain and in the variant."""
        return {
            name: (type(getattr(self.plain, name)).__name__, _name(self.variant, name))
            for name in STAGES
        }

    @property
    def changed_lines(self) -> list[str]:
        """The lines of the variant's ``forward`` that the plain one does not have."""
        old, new = forward(self.plain), forward(self.variant)
        return [
            line
            for kind, _, _, start, end in SequenceMatcher(None, old, new).get_opcodes()
            if kind != "equal"
            for line in new[start:end]
        ]

    def sources(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """Of the whole, and of each stage that changes: its name and both bodies of forward."""
        yield "forward", forward(self.plain), forward(self.variant)
        for name in STAGES:
            old, new = getattr(self.plain, name), getattr(self.variant, name)
            if type(old) is not type(new):
                yield name, forward(old), forward(new)

    def __repr__(self) -> str:
        rows = [("stage", type(self.plain).__name__, type(self.variant).__name__)]
        rows += [
            (name, old, "same" if old == new else new)
            for name, (old, new) in self.stages.items()
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += ["", f"changed lines of forward: {len(self.changed_lines)}"]
        return "\n".join([*lines, *(f"    {line}" for line in self.changed_lines)])

    def _repr_html_(self) -> str:
        names = type(self.plain).__name__, type(self.variant).__name__
        head = "".join(f'<th scope="col">{escape(n)}</th>' for n in ("stage", *names))
        body = "".join(
            f'<tr><th scope="row"><code>{escape(stage)}</code></th><td>{escape(old)}</td>'
            f"<td>{'same' if old == new else f'<strong>{escape(new)}</strong>'}</td></tr>"
            for stage, (old, new) in self.stages.items()
        )
        columns = "".join(_columns(title, *pair) for title, *pair in self.sources())
        return (
            f'<div class="mhsa-difference"><style>{STYLE}</style><table><caption>'
            f"The five stages of {escape(names[1])}, read from its source."
            f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{columns}</div>"
        )


STYLE = (
    ".mhsa-difference table{border-collapse:collapse;margin:0 0 .8em}"
    ".mhsa-difference caption{caption-side:top;text-align:left;color:inherit}"
    ".mhsa-difference th,.mhsa-difference td{text-align:left;padding:.15em .8em .15em 0}"
    ".mhsa-difference .pair{display:grid;gap:.6em;margin:0 0 .8em;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,22em),1fr))}"
    ".mhsa-difference pre{margin:0;padding:.4em 0;overflow-x:auto;font-size:.8em;"
    "line-height:1.45;background:none;color:inherit;border:1px solid currentColor}"
    ".mhsa-difference pre span{display:block;padding:0 .6em;min-height:1.45em}"
    ".mhsa-difference pre .changed{font-weight:600;box-shadow:inset 3px 0 currentColor}"
    ".mhsa-difference p{margin:.2em 0}"
)


def forward(module: nn.Module) -> list[str]:
    """The lines of a module's ``forward``, without its signature and docstring.

    >>> forward(MultiHeadAttention(12, 3))[-1]
    'return self.W_O(z)'
    """
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(type(module).forward)))
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    first = function.body[1 if ast.get_docstring(function) is not None else 0]
    return textwrap.dedent("\n".join(source.splitlines()[first.lineno - 1 :])).splitlines()


def _name(attention: Any, stage: str) -> str:
    return type(getattr(attention, stage)).__name__


def _columns(title: str, old: list[str], new: list[str]) -> str:
    sides: tuple[list[str], list[str]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        style = "" if kind == "equal" else ' class="changed"'
        for pair in zip_longest(old[a:b], new[c:d], fillvalue=""):
            for side, line in zip(sides, pair, strict=True):
                side.append(f"<span{style if line else ''}>{escape(line)}</span>")
    panes = "".join(
        f'<div><p>{label}</p><pre tabindex="0" role="region" '
        f'aria-label="{escape(title)} of the {label}">{"".join(side)}</pre></div>'
        for label, side in zip(("plain attention", "variant"), sides, strict=True)
    )
    return f'<p><code>{escape(title)}</code>:</p><div class="pair">{panes}</div>'
