"""A real mistake: what people write, or nearly wrote, when they build attention.

It is found by names. Modules may move, and lines may be formatted or commented differently: the
mistake can still be planted, as long as its function keeps its name and computes the same.
"""

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

PACKAGES = ("mhsa_lib", "mhsa_book")
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Mutant:
    """Replace ``old`` by ``new`` in the definition ``where``; ``tests`` must then fail.

    ``where`` is a dotted name without its package, such as ``Attend.forward``, with modules in
    front of it where the name alone occurs twice: ``functional.softmax``. ``old`` is an
    expression, or one or more statements, that the definition contains exactly once.

    ``tests`` names files by the end of their paths: ``variants/tempered`` is test_tempered.py
    in a folder variants. ``exhibit`` is the same mistake in the bug museum, if it is there.
    """

    name: str
    where: str
    old: str
    new: str
    tests: str
    exhibit: str = ""


class Project:
    """The definitions and the test files of a folder, by their names; read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages = [name for name in PACKAGES if (root / name).is_dir()]
        self.test_files = sorted((root / "tests").rglob("test_*.py"))
        self._named = {
            f"{module}.{name}": (file, name)
            for package in self.packages
            for file in sorted((root / package).rglob("*.py"))
            for module in [".".join(file.relative_to(root).with_suffix("").parts)]
            for name, _ in definitions(ast.parse(file.read_bytes()))
        }

    def find(self, where: str) -> tuple[Path, str]:
        """Return the file of a definition and its name in there."""
        found = [full for full in self._named if f".{full}".endswith(f".{where}")]
        if len(found) == 1:
            return self._named[found[0]]
        if found:
            raise LookupError(f"{where} is the name of {' and of '.join(found)}: say more.")
        last = {full.split(".")[-1]: full for full in self._named}
        near = difflib.get_close_matches(where.split(".")[-1], last, n=3)
        said = f" Near it: {', '.join(last[name] for name in near)}." if near else ""
        packages = " or ".join(self.packages)
        raise LookupError(f"{where} is no function, method or class of {packages}.{said}")

    def test_file(self, name: str) -> Path:
        """Return the file of tests whose path ends in a name, the least deep if several do."""
        wanted = Path(name).with_name(f"test_{Path(name).name}.py").parts
        found = [file for file in self.test_files if file.parts[-len(wanted) :] == wanted]
        least = min((len(file.parts) for file in found), default=0)
        found = [file for file in found if len(file.parts) == least]
        if len(found) == 1:
            return found[0]
        names = [str(file.relative_to(self.root)) for file in found]
        said = f"may be {' or '.join(names)}: say more" if names else "is no test file"
        raise LookupError(f"{name} {said}.")

    def tests(self, mutant: Mutant) -> set[Path]:
        """Return the files of tests that have to notice a mistake."""
        return {self.test_file(name) for name in mutant.tests.split()}

    def planted(self, mutant: Mutant) -> dict[Path, str]:
        """Return the text of the one file that a mistake changes."""
        file, name = self.find(mutant.where)
        change = replacing(mutant.old, mutant.new)
        try:
            return {file: rewritten(file.read_text(encoding="utf-8"), name, change)}
        except LookupError as error:
            raise LookupError(f"{mutant.name}: {mutant.where}: {error}") from None

    def untouched(self, mutants: Iterable[Mutant]) -> dict[Path, str]:
        """Return the texts of the files that mistakes change, written again without any."""
        texts = dict[Path, str]()
        for file, name in {self.find(mutant.where) for mutant in mutants}:
            text = texts.get(file) or file.read_text(encoding="utf-8")
            texts[file] = rewritten(text, name, lambda definition: None)
        return texts


def definitions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, ast.stmt]]:
    r"""Yield functions and classes, inner ones too, with their dotted names.

    >>> [name for name, _ in definitions(ast.parse("class A:\n  def f(self): pass"))]
    ['A', 'A.f']
    """
    for child in ast.iter_child_nodes(tree):
        inside = above
        if isinstance(child, DEFINITIONS):
            yield f"{above}{child.name}", child
            inside = f"{above}{child.name}."
        yield from definitions(child, inside)


def rewritten(text: str, name: str, change: Callable[[ast.stmt], None]) -> str:
    """Return a module whose definition ``name`` was changed, and all else left as it is."""
    definition = next(node for full, node in definitions(ast.parse(text)) if full == name)
    decorators = getattr(definition, "decorator_list", [])
    first = min(node.lineno for node in [definition, *decorators])
    change(definition)
    lines = text.splitlines()
    new = indent(ast.unparse(definition), " " * definition.col_offset)
    return "\n".join([*lines[: first - 1], new, *lines[definition.end_lineno :], ""])


def replacing(old: str, new: str) -> Callable[[ast.stmt], None]:
    r"""Return the change that puts ``new`` in the place of the one ``old`` of a definition.

    >>> text = "def double(x):\n    return (2\n        * x)  # twice"
    >>> print(rewritten(text, "double", replacing("2 * x", "3 * x")))
    def double(x):
        return 3 * x
    <BLANKLINE>
    """
    before, after = parsed(old, new)
    wanted = [ast.dump(node) for node in before]

    def change(definition: ast.stmt) -> None:
        places = [
            (parent, field, i)
            for parent in ast.walk(definition)
            for field, children in ast.iter_fields(parent)
            for i in range(len(children) if isinstance(children, list) else 1)
            if said(children, i, len(wanted)) == wanted
        ]
        if len(places) != 1:
            raise LookupError(f"{old!r} is {len(places)}× in there, and must be once.")
        ((parent, field, i),) = places
        children = getattr(parent, field)
        if isinstance(children, list):
            children[i : i + len(wanted)] = after
        else:
            setattr(parent, field, after[0])

    return change


def parsed(*texts: str) -> list[list[ast.AST]]:
    """Return every text as one expression if all of them are, else as statements."""
    try:
        return [[ast.parse(text, mode="eval").body] for text in texts]
    except SyntaxError:  # at least one of them is a statement: pass, return z, z = 1
        return [[*ast.parse(text).body] for text in texts]


def said(children: object, i: int, n: int) -> list[str]:
    """Return what ``n`` children from the i-th on say, however they are formatted."""
    part = children[i : i + n] if isinstance(children, list) else [children]
    return [ast.dump(node) for node in part if isinstance(node, ast.AST)]
