"""A variant beside plain attention: the five stages, and the source of what changes.

Read from the classes themselves, so it cannot say anything else than what runs.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import zip_longest
from typing import Any

from torch import nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import Stage

STAGES = ("project", "split", "attend", "concat", "W_O")
"""The parts of an attention, in the order in which its ``forward`` calls them."""


class Difference:
    """What a variant changes, as a table of stages and two columns of source; it draws itself.

    ``variant`` is an attention with the five stages; ``plain`` what it is compared with, by
    default a ``MultiHeadAttention`` of the same sizes. Raises ``TypeError`` for a module
    without the stages.

    >>> from mhsa_lib.variants import GroupedQueryAttention
    >>> difference = Difference(GroupedQueryAttention(12, 6, 2))
    >>> [stage for stage, (a, b) in difference.stages.items() if a != b]
    ['split', 'attend']
    >>> difference.changed_lines
    []
    """

    def __init__(self, variant: nn.Module, plain: nn.Module | None = None) -> None:
        for module in (variant,) if plain is None else (variant, plain):
            for stage in STAGES:
                if not hasattr(module, stage):
                    raise TypeError(
                        f"{type(module).__name__} has no stage {stage!r}; only an attention "
                        f"with the five stages can be compared."
                    )
        sizes: Any = variant
        self.variant = variant
        if plain is None:
            plain = MultiHeadAttention(sizes.d_model, sizes.n_heads, d_head=sizes.d_head)
        self.plain = plain

    @property
    def stages(self) -> dict[str, tuple[str, str]]:
        """Class of each stage, plain and in the variant."""
        return {name: (_name(self.plain, name), _name(self.variant, name)) for name in STAGES}

    @property
    def added(self) -> dict[str, nn.Module]:
        """The parts of the variant that plain attention has under no name."""
        known = {name for name, _ in self.plain.named_children()}
        return {name: m for name, m in self.variant.named_children() if name not in known}

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
        """Of the whole, and of each stage that changes: its name and both bodies of forward.

        A stage that is added has no plain body.
        """
        yield "forward", forward(self.plain), forward(self.variant)
        for name in STAGES:
            old, new = getattr(self.plain, name), getattr(self.variant, name)
            if type(old) is not type(new):
                yield name, forward(old), forward(new)
        for name, module in self.added.items():
            if isinstance(module, Stage):
                yield name, [], forward(module)

    def _changes(self) -> Iterator[tuple[str, str, str]]:
        """Part, class in plain attention, and the class or the sizes that are different."""
        for name, (old, new) in self.stages.items():
            sizes = _sizes(getattr(self.plain, name), getattr(self.variant, name))
            yield name, old, new if old != new else ", ".join(["same", *sizes])
        for name, module in self.added.items():
            yield name, "–", type(module).__name__

    def __repr__(self) -> str:
        rows = [("stage", *self._names()), *self._changes()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += ["", f"changed lines of forward: {len(self.changed_lines)}"]
        return "\n".join([*lines, *(f"    {line}" for line in self.changed_lines)])

    def _repr_html_(self) -> str:
        names = self._names()
        head = "".join(f'<th scope="col">{_breakable(n)}</th>' for n in ("stage", *names))
        body = "".join(
            f'<tr><th scope="row"><code>{escape(stage)}</code></th><td>{_breakable(old)}</td>'
            f"<td>{escape(new) if new.startswith('same') else _strong(new)}</td></tr>"
            for stage, old, new in self._changes()
        )
        sources = "".join(_source(title, names, *pair) for title, *pair in self.sources())
        return (
            f'<div class="mhsa-difference"><style>{STYLE}</style><table><caption>'
            f"The five stages of {escape(names[1])}, read from its source."
            f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{sources}</div>"
        )

    def _names(self) -> tuple[str, str]:
        return type(self.plain).__name__, type(self.variant).__name__


STYLE = (
    ".mhsa-difference{color:inherit}"
    ".mhsa-difference table{border-collapse:collapse;margin:0 0 .8em;font-size:.9em;"
    "color:inherit;background:none}"
    ".mhsa-difference caption{caption-side:top;text-align:left;color:inherit;padding:0 0 .3em}"
    ".mhsa-difference :is(th,td){text-align:left;vertical-align:top;border:0;"
    "padding:.15em .8em .15em 0;background:none;color:inherit}"
    ".mhsa-difference .pair{display:grid;gap:.6em;margin:0 0 .8em;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,20em),1fr))}"
    ".mhsa-difference .pair>div{min-width:0}"
    ".mhsa-difference pre{margin:0;padding:.4em 0;white-space:pre-wrap;font-size:.8em;"
    "overflow-wrap:anywhere;line-height:1.45;background:none;color:inherit;"
    "border:1px solid currentColor}"
    ".mhsa-difference pre span{display:block;min-height:1.45em;padding:0 .6em 0 3em;"
    "text-indent:-2.4em}"
    ".mhsa-difference pre i{display:inline-block;width:1.2em;text-indent:0;font-style:normal}"
    ".mhsa-difference pre .changed{font-weight:700;box-shadow:inset 3px 0 currentColor}"
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


def _sizes(old: nn.Module, new: nn.Module) -> list[str]:
    """Weights of the same name and another shape, such as W_K of shared keys."""
    before, after = (dict(stage.named_parameters()) for stage in (old, new))
    return [
        f"{name.removesuffix('.weight')} {tuple(before[name].shape)} → {tuple(value.shape)}"
        for name, value in after.items()
        if name in before and value.shape != before[name].shape
    ]


def _strong(text: str) -> str:
    return f"<strong>{_breakable(text)}</strong>"


def _breakable(name: str) -> str:
    """A long name may break before a capital, on a narrow screen."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "<wbr>", escape(name))


def _source(title: str, names: tuple[str, str], old: list[str], new: list[str]) -> str:
    """Both bodies side by side, or one pane where they are the same."""
    if old == new:
        lines = [_line("", line) for line in new]
        panes = _pane(title, " and ".join(names), lines)
    elif not old:
        panes = _pane(title, names[1], [_line("+", line) for line in new])
    else:
        sides: tuple[list[str], list[str]] = ([], [])
        for kind, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
            marks = ("", "") if kind == "equal" else ("−", "+")
            for pair in zip_longest(old[a:b], new[c:d]):
                for side, mark, line in zip(sides, marks, pair, strict=True):
                    side.append("<span></span>" if line is None else _line(mark, line))
        panes = "".join(_pane(title, *side) for side in zip(names, sides, strict=True))
    return f'<div class="pair">{panes}</div>'


def _line(mark: str, line: str) -> str:
    style = ' class="changed"' if mark else ""
    return f"<span{style}><i>{mark}</i>{escape(line)}</span>"


def _pane(title: str, name: str, lines: list[str]) -> str:
    label = f"{escape(title)} of {escape(name)}"
    return (
        f"<div><p><code>{escape(title)}</code> of {escape(name)}</p>"
        f'<pre role="group" aria-label="{label}">{"".join(lines)}</pre></div>'
    )
