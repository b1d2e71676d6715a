"""The library as text: its modules, what they import and define."""

import ast
from pathlib import Path

import mhsa_lib

ROOT = Path(mhsa_lib.__file__).parent
FILES = {file.relative_to(ROOT).with_suffix("") for file in ROOT.rglob("*.py")}
MODULES = sorted(
    {".".join(file.parts).removesuffix(".__init__") for file in FILES} - {"__init__"}
)
VARIANTS = [m for m in MODULES if m.startswith("variants.") and "parts" not in m]
TREE = ROOT.parent
TEXTS = sorted(p for d in ("mhsa_lib", "tools", "tests") for p in (TREE / d).rglob("*.py"))


def path(module: str) -> Path:
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
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
                is_module = inner.startswith("mhsa_lib.") and path(inner[9:]).exists()
                found.add(inner if is_module else node.module)
    return found


def inside(names: set[str]) -> set[str]:
    return {name.removeprefix("mhsa_lib.") for name in names if name.startswith("mhsa_lib.")}


def definition(module: str, name: str, method: str) -> ast.FunctionDef:
    (cls,) = (node for node in tree(module).body if getattr(node, "name", "") == name)
    (found,) = (node for node in cls.body if getattr(node, "name", "") == method)
    return found
