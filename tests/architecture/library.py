"""The two packages as text: their modules, what they import and define."""

import ast
from pathlib import Path

from tools import PACKAGES
from tools import ROOT as TREE


def name(file: Path) -> str:
    """The dotted name of a file: ``mhsa_lib.masks`` for ``mhsa_lib/masks/__init__.py``."""
    return ".".join(file.relative_to(TREE).with_suffix("").parts).removesuffix(".__init__")


MODULES = sorted(name(file) for package in PACKAGES for file in (TREE / package).rglob("*.py"))
VARIANTS = [m for m in MODULES if m.startswith("mhsa_lib.variants.") and "parts" not in m]
TEXTS = sorted(p for d in (*PACKAGES, "tools", "tests") for p in (TREE / d).rglob("*.py"))


def path(module: str) -> Path:
    file = TREE.joinpath(*module.split(".")).with_suffix(".py")
    return file if file.exists() else file.with_suffix("") / "__init__.py"


def tree(module: str) -> ast.Module:
    return ast.parse(path(module).read_text(encoding="utf-8"))


def imports(nodes) -> set[str]:
    """Full names of what is imported, ``from a import b`` as a.b if that is a module."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: write the full name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
    return found


def inside(names: set[str]) -> set[str]:
    """Those of ours."""
    return {name for name in names if name.partition(".")[0] in PACKAGES}


def definition(module: str, name: str, method: str) -> ast.FunctionDef:
    (cls,) = (node for node in tree(module).body if getattr(node, "name", "") == name)
    (found,) = (node for node in cls.body if getattr(node, "name", "") == method)
    return found
