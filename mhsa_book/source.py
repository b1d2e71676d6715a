"""The source of the library as a chapter shows it: the lines that compute, and nothing else.

What a page prints is cut out of the code that runs, so the two cannot disagree.
"""

import ast
import copy
import inspect
import io
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

FOR_TOOLS = {"wires", "cached", "extra_repr"}
"""Names of a stage that tools read and that compute nothing."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Span = tuple[int, int]


def shown(*things: Any, without: Sequence[str] = ()) -> str:
    """Return the source of classes and functions without what a first reading need not see.

    Left out are docstrings, comments, type hints, calls of ``checks``, and what names the
    intermediate values for tools (``Wire``, ``wires``). ``without`` names arguments that are
    left out too, wherever they are passed on: the source then is what runs when each of them
    is None, or, for a module such as ``dropout``, when it returns what it was given.

    Raises ``TypeError`` for anything that is not a class or a function, and ``ValueError`` for
    a name that none of them has, or that one uses for more than passing it on.

    >>> from mhsa_lib import functional
    >>> print(shown(functional.softmax, without=["mask"]))
    def softmax(scores):
        return torch.softmax(scores, dim=-1)
    """
    for thing in things:
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            raise TypeError(f"{thing!r} has no source to show; pass a class or a function.")
    codes = [textwrap.dedent(inspect.getsource(thing)) for thing in things]
    for name in without:
        if not any(name in _arguments(ast.parse(code)) for code in codes):
            raise ValueError(f"without {name!r}: no function shown here has that argument.")
    text = "\n\n".join(_Reading(code, without).text() for code in codes)
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    if left := used & set(without):
        raise ValueError(
            f"{', '.join(sorted(left))} cannot be left out: a line computes with it."
        )
    return text


def _arguments(tree: ast.AST) -> set[str]:
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


class _Reading:
    """One class or function, and which parts of its text are left out."""

    def __init__(self, code: str, without: Sequence[str]) -> None:
        self.code, self.without = _uncommented(code), set(without)
        (self.tree,) = ast.parse(self.code).body
        self.lines = self.code.splitlines(keepends=True)
        # A Wire returns what it is given, and so does a module that is left out.
        self.identities = self.without | {
            target.attr
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Attribute) and ast.unparse(node.value.func) == "Wire"
        }

    def text(self) -> str:
        return "\n".join(self._statement(self.tree, ""))

    def _block(self, body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
        """The lines of a body; behind a return nothing runs."""
        for statement in body:
            if self._is_left_out(statement):
                continue
            if isinstance(statement, ast.If) and self._is_decided(statement.test):
                yield from self._block(statement.body, indent)
                if isinstance(statement.body[-1], ast.Return):
                    return
                continue
            yield from self._statement(statement, indent)

    def _statement(self, statement: ast.stmt, indent: str) -> Iterator[str]:
        if isinstance(statement, ast.ClassDef):
            yield indent + ast.unparse(_empty(statement)).splitlines()[0]
            kept = [part for part in statement.body if not self._is_left_out(part)]
            for i, part in enumerate(kept):
                if i:
                    yield ""
                yield from self._statement(part, indent + "    ")
        elif isinstance(statement, _Function):
            yield indent + self._signature(statement)
            yield from self._block(statement.body, indent + "    ")
        else:
            start, end = self._span(statement)
            text = "".join(self._pieces(start, end, sorted(self._cuts(statement))))
            # Lines after the first have the indentation of the file.
            first, *rest = text.splitlines()
            yield indent + first
            yield from (indent + line[statement.col_offset :] for line in rest)

    def _signature(self, function: _Function) -> str:
        given = function.args
        first_with_default = len(given.args) - len(given.defaults)
        defaults = dict(zip(given.args[first_with_default:], given.defaults, strict=True))
        kept = [each for each in given.args if each.arg not in self.without]
        given.args = kept
        given.defaults = [defaults[each] for each in kept if each in defaults]
        for each in [*given.args, *given.kwonlyargs]:
            each.annotation = None
        return ast.unparse(_empty(function)).splitlines()[0]

    def _is_left_out(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr):
            value = statement.value
            documents = isinstance(value, ast.Constant) and isinstance(value.value, str)
            checks = isinstance(value, ast.Call) and ast.unparse(value).startswith("checks.")
            return documents or checks
        if isinstance(statement, _Function):
            return statement.name in FOR_TOOLS
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = getattr(statement, "target", None) or statement.targets[0]  # type: ignore[union-attr]
            if isinstance(target, ast.Name):
                return target.id in FOR_TOOLS | self.without
            return isinstance(target, ast.Attribute) and target.attr in self.identities
        return False

    def _is_decided(self, test: ast.expr) -> bool:
        return ast.unparse(test) in {f"{name} is None" for name in self.without}

    def _cuts(self, statement: ast.stmt) -> Iterator[_Span]:
        """The parts of a statement that are left out: identities, and arguments."""
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call):
                continue
            start, end = self._span(node)
            if self._is_identity(node.func):
                inner, last = self._span(node.args[0])
                yield from ((start, inner), (last, end))
            passed = [*node.args, *node.keywords]
            for before, after in pairwise(passed):
                value = after.value if isinstance(after, ast.keyword) else after
                if isinstance(value, ast.Name) and value.id in self.without:
                    yield self._span(before)[1], self._span(after)[1]

    def _is_identity(self, called: ast.expr) -> bool:
        return (
            isinstance(called, ast.Attribute)
            and ast.unparse(called.value) == "self"
            and called.attr in self.identities
        )

    def _pieces(self, start: int, end: int, cuts: Sequence[_Span]) -> Iterator[str]:
        for first, last in cuts:
            yield self.code[start:first]
            start = last
        yield self.code[start:end]

    def _span(self, node: Any) -> _Span:
        return (
            self._place(node.lineno, node.col_offset),
            self._place(node.end_lineno, node.end_col_offset),
        )

    def _place(self, line: int, n_bytes: int) -> int:
        """The place in the text; ``ast`` counts the bytes of a line."""
        before = self.lines[line - 1].encode()[:n_bytes].decode()
        return sum(map(len, self.lines[: line - 1])) + len(before)


def _empty(definition: Any) -> ast.AST:
    """A class or function with its head alone."""
    head = copy.copy(definition)
    head.body, head.returns = [ast.Pass()], None
    return ast.fix_missing_locations(head)


def _uncommented(code: str) -> str:
    lines = code.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)
