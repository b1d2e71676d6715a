"""A Sphinx extension: every documented name shows its import line, and examples bring theirs.

A name is imported from the shortest path that its package offers. The examples of a docstring
are doctests, which run among the names of their module; a reader who pastes one has none of
them. So the names that an example uses and does not make are looked up in the source of that
module, and the lines that import them are put before it.
"""

import ast
import builtins
import doctest
import functools
import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

DOCUMENTED = {"class", "data", "exception", "function"}
NOT_THERE = object()


def import_line(module: str, name: str, alias: str = "") -> str:
    """The line that imports a name of a module, from the shortest path that offers it.

    >>> import_line("mhsa_lib.masks.predicates", "causal")
    'from mhsa_lib.masks import causal'
    >>> import_line("torch.nn", "functional", "F")
    'import torch.nn.functional as F'
    """
    wanted = _found(module, name)
    parts = module.split(".")
    offered = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
    shortest = next((path for path in offered if _found(path, name) is wanted), module)
    if not alias or alias == name:
        return f"from {shortest} import {name}"
    if inspect.ismodule(wanted):
        return f"import {shortest}.{name} as {alias}"
    return f"from {shortest} import {name} as {alias}"


def _found(module: str, name: str) -> Any:
    try:
        found = importlib.import_module(module)
        return getattr(found, name, NOT_THERE)
    except ModuleNotFoundError:
        return NOT_THERE


@functools.cache
def bound(module: str) -> dict[str, str]:
    """The import line of every name that the source of a module binds at its top."""
    lines = {}
    source = inspect.getsource(importlib.import_module(module))
    for node in _top(ast.parse(source).body):
        match node:
            case ast.Import():
                for each in node.names:
                    name = each.asname or each.name.partition(".")[0]
                    lines[name] = (
                        f"import {each.name}{f' as {each.asname}' if each.asname else ''}"
                    )
            case ast.ImportFrom(module=str(path)):
                for each in node.names:
                    lines[each.asname or each.name] = import_line(
                        path, each.name, each.asname or ""
                    )
            case ast.FunctionDef() | ast.ClassDef():
                lines[node.name] = import_line(module, node.name)
            case ast.Assign() | ast.AnnAssign():
                for name in _stored(node):
                    lines[name] = import_line(module, name)
    return lines


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top(node.body)


def _stored(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def lacking(code: str, have: set[str]) -> set[str]:
    r"""The names that code takes from outside, in no particular order.

    >>> sorted(lacking("x = torch.ones(n)\nprint(x, [y for y in x])", {"n"}))
    ['torch']
    """
    tree = ast.parse(code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    made = _stored(tree) | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {each.asname or each.name.partition(".")[0] for each in node.names}
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
    return used - made - have - {*dir(builtins)}


def with_imports(lines: list[str], module: str) -> list[str]:
    """Put the imports that the examples of a docstring lack before the first of them."""
    examples = doctest.DocTestParser().get_examples("\n".join(lines))
    if not examples:
        return list(lines)
    code = "".join(example.source for example in examples)
    known = bound(module)
    needed = sorted({known[name] for name in lacking(code, set()) if name in known}, key=_order)
    first = examples[0]
    indent = " " * first.indent
    added = [f"{indent}>>> {line}" for line in needed]
    return [*lines[: first.lineno], *added, *lines[first.lineno :]]


def _order(line: str) -> tuple[bool, bool, str]:
    """As ruff sorts them: the packages of others first, `import` before `from`."""
    return line.split()[1].startswith("mhsa_"), line.startswith("from"), line


def add(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Write both into the lines of one docstring, in place."""
    module, own = (name, "") if what == "module" else defined(name)
    lines[:] = with_imports(lines, module)
    if what in DOCUMENTED:
        lines[:0] = [".. container:: book-import", "", f"   ``{import_line(module, own)}``", ""]


def defined(name: str) -> tuple[str, str]:
    """Split a full name into the module that defines it and its name there.

    >>> import mhsa_lib
    >>> defined("mhsa_lib.masks.causal")
    ('mhsa_lib.masks.predicates', 'causal')
    >>> import mhsa_book.plots  # has a function and a module of one name
    >>> defined("mhsa_book.plots.arcs")
    ('mhsa_book.plots.arcs', 'arcs')
    """
    module = name.rpartition(".")[0]
    while module not in sys.modules:
        module = module.rpartition(".")[0]
    own = name[len(module) + 1 :]
    top = own.partition(".")[0]
    obj = getattr(sys.modules[module], top, None)
    home = sys.modules.get(getattr(obj, "__module__", None) or module)
    return (home.__name__ if home and getattr(home, top, None) is obj else module), own


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", add, priority=300)  # docstrings.py is 400
    return {"parallel_read_safe": True, "parallel_write_safe": True}
