"""What the outputs of a notebook depend on: definitions of our packages, and their data.

Nothing is run to find this out. Code is followed name by name: from a cell to the function,
class or constant that it names, through the ``__init__`` of every package on the way, and on to
the names that these use themselves. A method belongs to its class. A change elsewhere in the
same module makes nothing stale.

Three things count although nobody names them:

- Importing a module runs it, and its parents, and all that it imports. Statements that do
  more than bind a name (a call, a loop, a decorator that may keep what it decorates) therefore
  count for everybody who imports the module, however indirectly.
- An import says where a name comes from, so the imports that a name passes through count.
- The files that are no Python in the folder of a module, and in folders in there that hold no
  Python, are its data.

An exercise is asked for by its name: of the modules that hold exercises only those count whose
table has a name that the code says.

Whatever cannot be followed counts as a whole: a module that is passed around as an object or
imported with a star, a module that looks into its own ``globals()``, and every module of a
package that imports modules by names it computes.

Comments, blank lines and docstrings change no output and are left out, unless code that counts
shows the source or the docstring of something (``inspect.getsource``, ``__doc__``): then all
that counts does so as it is written.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, cast

PACKAGES = ("mhsa_lib", "mhsa_book")
RUN = re.compile(rf"-m[ \"',]+((?:{'|'.join(PACKAGES)})[\w.]*)")
DOTTED = re.compile(rf"(?:{'|'.join(PACKAGES)})\.[\w.]*")
SHOWS = {"getsource", "getsourcelines", "getsourcefile", "getdoc", "getcomments", "__doc__"}
NO_DATA = {".py", ".pyc", ".typed"}
LOOKS_INTO_ITSELF = {"globals", "eval", "exec"}
FINDS_MODULES = {"import_module", "__import__", "iter_modules", "walk_packages", "iglob"}
# An exercise is found by its name, in one of the tables that its package joins into one.
ASKED, TABLE = "exercises", "EXERCISES"
# Decorators that keep no hold on what they decorate. Any other might put it in a table.
HARMLESS = {
    *("dataclass", "cache", "lru_cache", "contextmanager", "wraps", "total_ordering"),
    *("runtime_checkable", "overload", "final", "override", "no_grad", "inference_mode"),
    *("property", "staticmethod", "classmethod", "cached_property", "abstractmethod"),
}
MUTATES = {
    "append",
    "add",
    "update",
    "setdefault",
    "extend",
    "insert",
    "pop",
    "clear",
    "remove",
}
GLOBAL = re.compile(r"regist|seed|Library|patch|\bset_|environ")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Node(NamedTuple):
    """Something that counts.

    ``kind`` is "run" (the module is imported), "part" (a statement of it), "import" (where a
    name comes from), "whole" (all of it), "tree" (with all modules of the package) or "text".
    """

    kind: str
    module: str
    what: int | str = 0


class Origin(NamedTuple):
    """Where an import takes a name from; ``name`` is None for a module itself."""

    module: str
    name: str | None


@dataclass
class Module:
    """A file, its statements, and the names they bind."""

    name: str
    text: str
    is_package: bool = False
    bound: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    imported: dict[str, list[Origin]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.body = ast.parse(self.text).body
        for place, statement in enumerate(self.body):
            for node in at_once(statement):
                for name in binds(node):
                    self.bound[name].append(place)
                for name, origin in origins(node, self.package):
                    self.imported[name].append(origin)

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def starts(self) -> list[int]:
        """The line at which each statement begins, decorators included, and the end."""
        first = [
            min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            for node in self.body
        ]
        return [*first, len(self.lines) + 1]

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def bare(self) -> list[str]:
        return _without_comments(self.text)

    def code(self, place: int, *, as_written: bool) -> str:
        """A statement without comments and docstrings, or with all up to the next one."""
        start = self.starts[place] - 1
        if as_written:
            return "\n".join(self.lines[start : self.starts[place + 1] - 1]).rstrip()
        lines = self.bare[start : self.body[place].end_lineno]
        return "\n".join(line.rstrip() for line in lines if line.strip())


class Library:
    """The packages below a folder, read once, and who uses what in them."""

    def __init__(self, root: Path, packages: Iterable[str] = PACKAGES) -> None:
        self.root = root
        files = [file for name in packages for file in (root / name).rglob("*.py")]
        self.files = {self._name(file): file for file in sorted(files)}
        self.modules = {
            name: Module(name, file.read_text(encoding="utf-8"), file.stem == "__init__")
            for name, file in self.files.items()
        }
        self._next: dict[Node, frozenset[Node]] = {}
        self._used: dict[tuple[str, int], set[Node]] = {}
        self._writers: dict[Node, bool] = {}
        self._shown: dict[tuple[str, int], bool] = {}
        self._digests: dict[Path, bytes] = {}
        self._lists_subclasses = any("__subclasses__" in m.text for m in self.modules.values())

    def _name(self, file: Path) -> str:
        parts = file.relative_to(self.root).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    # --- from code to what counts ---------------------------------------------------------

    def needed(self, code: str) -> dict[str, bytes]:
        """Return every module that code depends on, with what of it counts, data included."""
        start, tree = Module("", code), ast.parse(code)
        todo = self._uses_of(start, tree)
        for run in RUN.findall(code):
            names = {run, f"{run}.__main__"} & self.modules.keys()
            todo |= {Node("whole", name) for name in names}
        return self._counted(self._closure(todo, asked(tree)), shown=_shows(tree))

    def needed_by(self, module: str) -> dict[str, bytes]:
        """Return the same for a whole module of these packages."""
        return self._counted(self._closure({Node("whole", module)}), shown=False)

    def _closure(self, todo: Iterable[Node], names: set[str] | None = None) -> set[Node]:
        """Everything that follows from some nodes, tables without any of the names left out."""
        found, todo = set[Node](), set(todo)
        while todo:
            found |= todo
            todo = {
                after
                for node in todo
                for after in self._after(node)
                if after not in found
                and (names is None or not self._is_table_without(names, node, after))
            }
        return found

    def _is_table_without(self, names: set[str], node: Node, after: Node) -> bool:
        """Whether a module is passed around beside others for a table that holds no name."""
        if after.kind != "whole" or after.module not in self._keys:
            return False
        beside = node.module.rpartition(".")[0] == after.module.rpartition(".")[0]
        return beside and names.isdisjoint(self._keys[after.module])

    @cached_property
    def _keys(self) -> dict[str, set[str]]:
        """The names in the table of each module that has one."""
        return {
            name: {str(key.value) for key in each.value.keys if isinstance(key, ast.Constant)}
            for name, module in self.modules.items()
            if name.rpartition(".")[0].endswith(f".{ASKED}")
            for each in module.body
            if isinstance(each, ast.AnnAssign | ast.Assign) and isinstance(each.value, ast.Dict)
            if TABLE in ast.unparse(each).partition("=")[0] and None not in each.value.keys
        }

    def _counted(self, found: set[Node], *, shown: bool) -> dict[str, bytes]:
        parts = defaultdict[str, set[int]](set)
        imports = defaultdict[str, set[str]](set)
        for kind, where, what in found:
            if kind == "part":
                parts[where].add(int(what))
            elif kind == "import":
                imports[where].add(str(what))
        shown = shown or any(
            self._shows_source(name, place) for name in parts for place in parts[name]
        )
        counts = {}
        for name in sorted(parts.keys() | imports.keys()):
            module = self.modules[name]
            lines = [repr((each, module.imported[each])) for each in sorted(imports[name])]
            lines += [module.code(place, as_written=shown) for place in sorted(parts[name])]
            if shown and Node("text", name) in found:
                lines.append(module.text)
            data = self._data(self.files[name].parent) if parts[name] else b""
            counts[name] = "\n".join(lines).encode() + data
        return counts

    def _shows_source(self, name: str, place: int) -> bool:
        if (name, place) not in self._shown:
            self._shown[name, place] = _shows(self.modules[name].body[place])
        return self._shown[name, place]

    def _data(self, folder: Path) -> bytes:
        """The contents of the files beside modules; digests, because some are large."""
        if folder.parent == self.root:
            return b""
        if folder not in self._digests:
            found = []
            for file in sorted(folder.rglob("*")):
                inside = file.relative_to(folder).parents
                own = not any([*(folder / each).glob("*.py")] for each in inside if each.name)
                if own and file.is_file() and file.suffix not in NO_DATA:
                    name = file.relative_to(folder).as_posix()
                    found.append(name.encode() + hashlib.sha256(file.read_bytes()).digest())
            self._digests[folder] = b"".join(found)
        return self._digests[folder]

    # --- one step -------------------------------------------------------------------------

    def _after(self, node: Node) -> frozenset[Node]:
        if node not in self._next:
            step = getattr(self, f"_after_{node.kind}")
            self._next[node] = frozenset(step(self.modules[node.module], node.what))
        return self._next[node]

    def _after_run(self, module: Module, _: object) -> Iterator[Node]:
        if above := module.name.rpartition(".")[0]:
            yield Node("run", above)
        for each in module.imported.values():
            for origin in each:
                yield from self._imports(origin)
        for place, statement in enumerate(module.body):
            if not _only_as_a_script(statement) and self._acts(module, statement):
                yield Node("part", module.name, place)

    def _after_part(self, module: Module, place: int) -> Iterator[Node]:
        yield Node("run", module.name)
        yield from self._uses(module, module.body[place])
        for origin in module.imported.get("*", []):
            yield from self._resolve_origin(origin, [])

    def _after_import(self, module: Module, _: object) -> Iterator[Node]:
        yield Node("run", module.name)

    def _after_whole(self, module: Module, _: object) -> Iterator[Node]:
        yield Node("run", module.name)
        for place, statement in enumerate(module.body):
            if not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_text(
                statement
            ):
                yield Node("part", module.name, place)
        for name in module.imported if module.is_package else ["*"]:
            yield from self._find(module, [name])

    def _after_tree(self, module: Module, _: object) -> Iterator[Node]:
        inside = f"{module.name}."
        for name in self.modules:
            if name == module.name or name.startswith(inside):
                yield Node("whole", name)

    def _after_text(self, module: Module, _: object) -> Iterator[Node]:
        yield Node("whole", module.name)

    # --- names ----------------------------------------------------------------------------

    def _imports(self, origin: Origin) -> Iterator[Node]:
        """The modules that an import runs."""
        names = (origin.module, f"{origin.module}.{origin.name}")
        yield from (Node("run", name) for name in names if name in self.modules)

    def _uses(self, module: Module, code: ast.AST) -> set[Node]:
        """The same, remembered for code that stays: that of the packages."""
        key = (module.name, id(code))
        if key not in self._used:
            self._used[key] = self._uses_of(module, code)
        return self._used[key]

    def _uses_of(self, module: Module, code: ast.AST) -> set[Node]:
        """Everything that some code names, in a module or in a function's own imports."""
        found, used = set[Node](), set[str]()
        local = defaultdict[str, list[Origin]](list)
        nodes = [*ast.walk(code)]  # once for all, because walking takes most of the time
        if not isinstance(code, ast.Import | ast.ImportFrom):
            for node in nodes:
                for name, origin in origins(node, module.package):
                    local[name].append(origin)
                    found.update(self._imports(origin))
        for path in [*paths(code), *_paths_in_annotations(nodes)]:
            used.add(path[0])
            found.update(self._find(module, path, missing_is_whole=False))
            for origin in local.get(path[0], []):
                found.update(self._resolve_origin(origin, path[1:]))
        for name in local.keys() - used:  # imported for somebody else to find it
            top = name.removeprefix("import ").partition(".")[0]
            for origin in local[name] if top not in used else ():
                if origin != Origin(name, None):
                    found.update(self._resolve_origin(origin, []))
        found.update(self._named_in_strings(nodes))
        found.update(self._computed(module, nodes))
        return {node for node in found if node.module in self.modules}

    def _find(
        self, module: Module, path: list[str], *, missing_is_whole: bool = True
    ) -> Iterator[Node]:
        """What an attribute of a module leads to."""
        name, *rest = path
        inner = f"{module.name}.{name}"
        places, elsewhere = module.bound.get(name, []), module.imported.get(name, [])
        yield from (Node("part", module.name, place) for place in places if module.name)
        if elsewhere and module.name:
            yield Node("import", module.name, name)
            for origin in elsewhere:
                yield from self._resolve_origin(origin, rest)
        if places or elsewhere or not missing_is_whole:
            return
        if inner in self.modules:
            yield Node("run", inner)
            yield from self._resolve(inner, rest)
        elif name == "__doc__":
            yield Node("text", module.name)
        elif name == "__path__":
            yield Node("tree", module.name)
        elif name in ("__name__", "__file__", "__package__", "__spec__"):
            yield Node("run", module.name)
        else:
            yield Node("whole", module.name)

    def _resolve_origin(self, origin: Origin, rest: list[str]) -> Iterator[Node]:
        module, name = origin
        if name == "*":
            yield from self._resolve(module, [])
        elif name is None:
            yield from self._resolve(module, rest)
        else:
            yield from self._resolve(module, [name, *rest])

    def _resolve(self, module: str, path: list[str]) -> Iterator[Node]:
        if module not in self.modules:
            return
        yield Node("run", module)
        key = (module, *path)
        if key in self._resolving:  # two packages that import from each other
            return
        self._resolving.append(key)
        try:
            if path:
                yield from self._find(self.modules[module], path)
            else:
                yield Node("whole", module)
        finally:
            self._resolving.remove(key)

    @cached_property
    def _resolving(self) -> list[tuple[str, ...]]:
        return []

    def _named_in_strings(self, nodes: list[ast.AST]) -> Iterator[Node]:
        """Modules whose full name is a string: for a command, or for importlib."""
        # Who asks where something comes from finds no module by it.
        asked = {inner for node in nodes for inner in _prefixes(node)}
        for node in nodes:
            value = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(value, str) or not DOTTED.fullmatch(value) or node in asked:
                continue
            name = value.rstrip(".")
            if value.endswith("."):
                yield Node("tree", name)
            elif name in self.modules:
                yield Node("whole", name)
                yield Node("whole", f"{name}.__main__")
            else:
                above, _, last = name.rpartition(".")
                yield from self._resolve(above, [last])

    def _computed(self, module: Module, nodes: list[ast.AST]) -> Iterator[Node]:
        """What cannot be followed: the module itself, or all that its package holds."""
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in LOOKS_INTO_ITSELF:
                yield Node("whole", module.name)
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
                yield from (Node("text", name) for name in self._with_forward)
                yield Node("whole", module.name)
            if isinstance(node, ast.Attribute | ast.Name) and _last(node) == "getmodule":
                yield from (Node("text", name) for name in self._with_forward)
            if isinstance(node, ast.Call) and _last(node.func) in FINDS_MODULES:
                if node.args and all(isinstance(each, ast.Constant) for each in node.args):
                    continue
                if module.name:
                    yield Node("tree", module.package)
                else:
                    yield from (Node("tree", name) for name in self.modules if "." not in name)

    @cached_property
    def _with_forward(self) -> list[str]:
        return [name for name, module in self.modules.items() if "def forward" in module.text]

    # --- statements that act when they are imported ---------------------------------------

    def _acts(self, module: Module, statement: ast.stmt) -> bool:
        """Whether a statement may do more than bind names."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return any(each.name == "*" for each in statement.names)
        if _is_text(statement) or isinstance(statement, ast.Pass):
            return False
        if isinstance(statement, Function):
            return not all(map(_is_harmless, statement.decorator_list))
        if isinstance(statement, ast.ClassDef):
            kept = self._lists_subclasses or self._is_kept_by_a_base(module, statement)
            return kept or not all(map(_is_harmless, statement.decorator_list))
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = (
                statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            )
            plain = all(
                isinstance(
                    node, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context
                )
                for target in targets
                for node in ast.walk(target)
            )
            return not plain or self._calls_act(module, statement)
        if isinstance(statement, ast.If | ast.Try):
            inner = [node for node in ast.iter_child_nodes(statement)]
            blocks = [n for n in inner if isinstance(n, ast.stmt)]
            blocks += [n for h in inner if isinstance(h, ast.ExceptHandler) for n in h.body]
            return any(self._acts(module, each) for each in blocks)
        return True

    def _calls_act(self, module: Module, statement: ast.stmt) -> bool:
        """Whether what is called to make a value may change something else as well."""
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call):
                continue
            if GLOBAL.search(ast.unparse(node.func)):
                return True
            if any(self._writes(inner) for inner in self._parts_behind(module, node.func)):
                return True
        return False

    def _is_kept_by_a_base(self, module: Module, statement: ast.ClassDef) -> bool:
        """Whether a class of ours, told of its subclasses, writes them down."""
        above = [*statement.bases, *(each.value for each in statement.keywords)]
        for node in {part for base in above for part in self._parts_behind(module, base)}:
            code = self.modules[node.module].body[int(node.what)]
            hooks = ("__init_subclass__", "__new__", "__init__")
            told = [n for n in ast.walk(code) if isinstance(n, Function) and n.name in hooks]
            if told and isinstance(code, ast.ClassDef) and self._writes(node):
                return True
        return False

    def _parts_behind(self, module: Module, code: ast.AST) -> set[Node]:
        """The definitions that code leads to, imports apart."""
        found, todo = set[Node](), self._uses(module, code)
        while todo:
            found |= todo
            todo = {
                after
                for node in todo
                if node.kind == "part"
                for after in self._uses(
                    self.modules[node.module], self.modules[node.module].body[int(node.what)]
                )
            } - found
        return {node for node in found if node.kind == "part"}

    def _writes(self, node: Node) -> bool:
        """Whether a definition changes something that its module, or another, keeps."""
        if node not in self._writers:
            self._writers[node] = self._changes_a_module(node)
        return self._writers[node]

    def _changes_a_module(self, node: Node) -> bool:
        module = self.modules[node.module]
        code = module.body[int(node.what)]
        if not isinstance(code, Function | ast.ClassDef):
            return False
        for inner in ast.walk(code):
            if isinstance(inner, ast.Global):
                return True
            if isinstance(inner, ast.Attribute | ast.Subscript):
                root = _root(inner)
                stores = isinstance(inner.ctx, ast.Store | ast.Del)
                mutates = isinstance(inner, ast.Attribute) and inner.attr in MUTATES
                if (stores or mutates) and root in module.bound.keys() | module.imported.keys():
                    return True
        return False


# --- reading code ----------------------------------------------------------------------------


def at_once(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that are run with a statement, bodies of functions and classes apart."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def binds(node: ast.AST) -> Iterator[str]:
    """The names that a node binds itself, those of imports apart."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name


def origins(node: ast.AST, package: str) -> Iterator[tuple[str, Origin]]:
    """The names that an import binds, and where each comes from."""
    if isinstance(node, ast.Import):
        for each in node.names:
            if each.asname:
                yield each.asname, Origin(each.name, None)
            else:
                top = each.name.partition(".")[0]
                yield top, Origin(top, None)
                if top != each.name:  # binds the name of the top alone, but runs the module
                    yield f"import {each.name}", Origin(each.name, None)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        module = ".".join([*above, *filter(None, [node.module])]) if node.level else node.module
        for each in node.names:
            yield each.asname or each.name, Origin(str(module), each.name)


def paths(code: ast.AST) -> Iterator[list[str]]:
    """Every name with the attributes asked of it: ``a.b.c`` as three words."""
    todo = [code]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            yield [node.id]
        elif isinstance(node, ast.Global):
            yield from ([name] for name in node.names)
        elif isinstance(node, ast.Attribute):
            words, inner = list[str](), cast(ast.expr, node)
            while isinstance(inner, ast.Attribute):
                words.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield [inner.id, *reversed(words)]
            else:
                todo.append(inner)
        else:
            todo += ast.iter_child_nodes(node)


def _paths_in_annotations(nodes: list[ast.AST]) -> Iterator[list[str]]:
    """Names in annotations that are strings: they are looked up when somebody reads them."""
    for node in nodes:
        found = (getattr(node, name, None) for name in ("annotation", "returns"))
        for annotation in filter(None, found):
            for inner in ast.walk(annotation):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    for words in re.findall(r"[A-Za-z_][\w.]*", inner.value):
                        yield words.strip(".").split(".")


def asked(tree: ast.AST) -> set[str] | None:
    """The strings in code; None where an exercise is asked for by a name that is computed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and ASKED in str(node.module):
            return None
        given = node.args[:1] if isinstance(node, ast.Call) else []
        asks = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"{ASKED}.")
        if asks and not (given and isinstance(given[0], ast.Constant)):
            return None
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {each for each in strings if isinstance(each, str)}


def _prefixes(node: ast.AST) -> Iterator[ast.AST]:
    """What a name is compared with by ``name.startswith``."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "startswith":
        yield from (inner for given in node.args for inner in ast.walk(given))


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _last(node: ast.AST) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _is_harmless(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last(called) in HARMLESS


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _only_as_a_script(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _shows(tree: ast.AST) -> bool:
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return not names.isdisjoint(SHOWS)


def _has_docstring(node: ast.AST) -> bool:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _without_comments(text: str) -> list[str]:
    """The lines of a file, empty where a comment or a docstring was."""
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
    return lines


@cache
def bare(text: str) -> str:
    r"""Code without its comments, docstrings and blank lines.

    >>> print(bare('def f(x):\n    "Twice."  # not thrice\n\n    return 2 * x  # x + x\n'))
    def f(x):
        return 2 * x
    """
    return "\n".join(line.rstrip() for line in _without_comments(text) if line.strip())


def fingerprints(needed: dict[str, bytes]) -> dict[str, str]:
    """Eight digits for every module, to tell which one changed."""
    return {name: hashlib.sha256(counts).hexdigest()[:8] for name, counts in needed.items()}


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The modules whose digits are not what they were."""
    return sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
