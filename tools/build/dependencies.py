"""What the outputs of a notebook depend on: modules of ``mhsa_lib``, and the data beside them.

Found without running anything. A name is followed to the module that defines it, through the
``__init__`` of every room; so a notebook that draws one figure does not depend on the others. A
module that another imports anywhere, inside a function too, counts. Its data are the files that
are no Python in its folder, and in folders in there that hold no Python.

Comments, blank lines and docstrings change no output and are left out. But a cell may show the
source or the docstring of a class (``inspect.getsource``, ``__doc__``, in the cell or in the
library): then every module with a ``forward`` counts as it is written.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "mhsa_lib"
RUN = re.compile(r"-m[ \"',]+(mhsa_lib[\w.]*)")
SHOWS = {"getsource", "getsourcelines", "__doc__"}
NO_DATA = {".py", ".pyc", ".typed"}


class Library:
    """The modules of a folder ``mhsa_lib`` by their full names, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {self._name(file): file for file in folder.rglob("*.py")}
        self.trees = {
            name: ast.parse(file.read_text(encoding="utf-8"))
            for name, file in self.files.items()
        }
        self.homes = {name: self._homes(name) for name in self.files if self._is_room(name)}

    def _name(self, file: Path) -> str:
        parts = (PACKAGE, *file.relative_to(self.folder).with_suffix("").parts)
        return ".".join(parts).removesuffix(".__init__")

    def _is_room(self, name: str) -> bool:
        """Whether a file only passes names on: nothing but words, imports and dunder names."""
        passed = all(
            isinstance(node, ast.Expr | ast.ImportFrom) or _is_dunder(node)
            for node in self.trees[name].body
        )
        return self.files[name].name == "__init__.py" and passed

    def _homes(self, room: str) -> dict[str, tuple[str, str]]:
        """Where the names come from that a room passes on: module and name there."""
        return {
            each.asname or each.name: (str(node.module), each.name)
            for node in self.trees[room].body
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }

    def home(self, module: str, name: str) -> str:
        """The module, or the room, that ``from module import name`` reaches."""
        while name in self.homes.get(module, {}):
            module, name = self.homes[module][name]
            if f"{module}.{name}" in self.files:
                break
        inner = f"{module}.{name}"
        return inner if inner in self.files else module

    def reached(self, tree: ast.AST) -> set[str]:
        """The modules that code imports, rooms replaced by what is used of them."""
        rooms: dict[str, str] = {}
        found: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {each.name for each in node.names if each.name in self.files}
            elif isinstance(node, ast.ImportFrom) and node.module in self.files:
                for each in node.names:
                    home = self.home(str(node.module), each.name)
                    if home in self.homes:
                        rooms[each.asname or each.name] = home
                    else:
                        found.add(home)
        for name, room in rooms.items():
            found |= self._used(tree, name, room)
        return found

    def _used(self, tree: ast.AST, name: str, room: str) -> set[str]:
        """The modules behind ``room.this`` and ``room.that``; all of a room used otherwise."""
        uses = [
            node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name
        ]
        dotted = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        attributes = [each for each in dotted if each.value in uses]
        if not uses or len(attributes) < len(uses):
            return self._whole(room)
        return self._modules({self.home(room, each.attr) for each in attributes})

    def _whole(self, room: str) -> set[str]:
        """All modules whose names a room passes on, and those of rooms that it passes on."""
        return self._modules({self.home(*each) for each in self.homes[room].values()})

    def _modules(self, homes: set[str]) -> set[str]:
        """The same with whole rooms in the place of rooms."""
        rooms = homes & self.homes.keys()
        return (homes - rooms).union(*map(self._whole, rooms))

    def needed(self, code: str) -> dict[str, bytes]:
        """Every module that code depends on: what of it counts, its data included."""
        reached, todo = set[str](), self.reached(ast.parse(code))
        todo |= {name for run in RUN.findall(code) for name in (run, f"{run}.__main__")}
        todo &= self.files.keys() - self.homes.keys()
        while todo:
            reached |= todo
            todo = {
                inner for name in todo for inner in self.reached(self.trees[name])
            } - reached
        shown = any(map(_shows, [ast.parse(code), *(self.trees[name] for name in reached)]))
        return {name: self._counts(name, shown) for name in sorted(reached)}

    def _counts(self, name: str, shown: bool) -> bytes:
        text = self.files[name].read_text(encoding="utf-8")
        as_written = shown and any(_is_forward(node) for node in ast.walk(self.trees[name]))
        code = text if as_written else bare(text)
        return code.encode() + b"".join(file.read_bytes() for file in self._data(name))

    def _data(self, name: str) -> Iterator[Path]:
        folder = self.files[name].parent
        if folder == self.folder:
            return
        for file in sorted(folder.rglob("*")):
            inside = file.relative_to(folder).parents
            own = not any([*(folder / each).glob("*.py")] for each in inside if each.name)
            if own and file.is_file() and file.suffix not in NO_DATA:
                yield file


@cache
def bare(text: str) -> str:
    r"""Code without its comments, docstrings and blank lines.

    >>> print(bare('def f(x):\n    "Twice."  # not thrice\n\n    return 2 * x  # x + x\n'))
    def f(x):
        return 2 * x
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column]
    for node in ast.walk(ast.parse(text)):
        first, *_ = getattr(node, "body", None) or [None] if _has_docstring(node) else [None]
        if first is not None:
            lines[first.lineno - 1 : first.end_lineno] = [""] * (
                first.end_lineno - first.lineno + 1
            )
    return "\n".join(line.rstrip() for line in lines if line.strip())


def fingerprints(needed: dict[str, bytes]) -> dict[str, str]:
    """Eight digits for every module, to tell which one changed."""
    return {name: hashlib.sha256(counts).hexdigest()[:8] for name, counts in needed.items()}


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The modules whose digits are not what they were."""
    return sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )


def _has_docstring(node: ast.AST) -> bool:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _is_dunder(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("__")


def _is_forward(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "forward"


def _shows(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in SHOWS for node in ast.walk(tree)
    )
