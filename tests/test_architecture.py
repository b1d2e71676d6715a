"""The law of the library, read from its source: layers, sizes, the five lines, docstrings."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mhsa_lib

ROOT = Path(mhsa_lib.__file__).parent
FILES = {file.relative_to(ROOT).with_suffix("") for file in ROOT.rglob("*.py")}
MODULES = sorted(
    {".".join(file.parts).removesuffix(".__init__") for file in FILES} - {"__init__"}
)
PICTURES = {"matplotlib", "ipywidgets", "anywidget", "bertviz", "IPython", "seaborn", "plotly"}
OPTIONAL = PICTURES | {"transformers", "huggingface_hub", "safetensors"}
FRONTS = {"bench", "bertviz_adapter", "plots", "widgets"}
WITHOUT = [module for module in MODULES if module.split(".")[0] not in FRONTS]
ALONE = {"shapes", "device", "functional", "measure", "naive", "stages", "attention"}


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


def test_the_root_holds_the_core_and_rooms():
    files = {file.stem for file in ROOT.glob("*.py")}
    assert files == ALONE | {"__init__"}


def lint(folder: Path) -> subprocess.CompletedProcess:
    """What import-linter says about the library in a folder, by this project's contracts."""
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache", "--config"]
    return subprocess.run(
        [*command, str(ROOT.parent / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )


RULE = "Rooms import downwards only"
PLANTED = {
    "up": ("functional.py", "from mhsa_lib import stages", RULE),
    "beside": (
        "costs/formulas.py",
        "import mhsa_lib.fused.choice",
        "Rooms import downwards only",
    ),
    "a circle": ("trace/hooks.py", "from mhsa_lib.trace import wires", "No circles"),
    "a kernel that dispatches": (
        "fused/tiled.py",
        "from mhsa_lib.fused import dispatch",
        "Fused: modules",
    ),
    "a picture": ("measure.py", "import matplotlib", "Layers 1 to 4 draw nothing"),
}


@pytest.mark.parametrize("planted", [None, *PLANTED])
def test_the_contracts_hold_and_notice_an_import_that_breaks_them(planted, tmp_path):
    shutil.copytree(ROOT, tmp_path / "mhsa_lib", ignore=shutil.ignore_patterns("__pycache__"))
    if planted:
        name, line, contract = PLANTED[planted]
        file = tmp_path / "mhsa_lib" / name
        file.write_text(f"{line}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    found = lint(tmp_path)
    assert found.returncode == bool(planted), found.stdout
    if planted:
        assert f"{contract}" in found.stdout.split("BROKEN")[0].splitlines()[-1]


def test_every_room_says_in_one_sentence_what_lives_there():
    for file in ROOT.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert (said or "").partition("\n")[0].endswith("."), file


@pytest.mark.parametrize("module", MODULES)
def test_no_module_imports_the_package_as_a_whole(module):
    assert "mhsa_lib" not in imports(ast.walk(tree(module)))


@pytest.mark.parametrize("module", WITHOUT)
def test_optional_libraries_are_imported_only_where_they_are_used(module):
    top = {name.split(".")[0] for name in imports(tree(module).body)}
    assert top.isdisjoint(OPTIONAL)


def test_importing_the_package_reaches_no_optional_library():
    reached, todo = (
        set(),
        inside(imports(ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")).body)),
    )
    while todo:
        module = todo.pop()
        reached.add(module)
        todo |= inside(imports(tree(module).body)) - reached
    assert {name.split(".")[0] for name in reached}.isdisjoint(FRONTS)
    assert {"equivalence.wall", "examples", "convert", "pretrained"}.isdisjoint(reached)


TREE = ROOT.parent
TEXTS = sorted(p for d in ("mhsa_lib", "tools", "tests") for p in (TREE / d).rglob("*.py"))


def without_encoding(file: Path) -> list[int]:
    """Lines that read or write text in whatever encoding the machine prefers."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = {keyword.arg for keyword in node.keywords}
        modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
        opens = called == "open" and any(mode in ("r", "w", "a", "x") for mode in modes)
        if (called in ("read_text", "write_text") or opens) and "encoding" not in given:
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(TREE)))
def test_text_is_read_and_written_as_utf_8_on_every_machine(file):
    assert without_encoding(file) == []


def chosen_by_truth(module: str) -> list[str]:
    """Values such as ``given or Default()``: an empty container given there is passed over."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.BoolOp)
        and isinstance(node.op, ast.Or)
        and isinstance(node.values[0], ast.Name | ast.Attribute)
        and isinstance(node.values[-1], ast.Call)
        and ast.unparse(node.values[-1].func)[:1].isupper()
    ]


@pytest.mark.parametrize("module", MODULES)
def test_a_default_part_stands_in_only_for_none(module):
    assert chosen_by_truth(module) == []


FORWARD = """
context = x if context is None else context
q, k, v = self.project(x, context)
q, k, v = self.split(q, k, v)
z = self.attend(q, k, v, mask)
z = self.concat(z)
return self.W_O(z)
"""


def definition(module: str, name: str, method: str) -> ast.FunctionDef:
    (cls,) = (node for node in tree(module).body if getattr(node, "name", "") == name)
    (found,) = (node for node in cls.body if getattr(node, "name", "") == method)
    return found


def test_the_forward_pass_is_the_five_lines():
    docstring, *body = definition("attention", "MultiHeadAttention", "forward").body
    assert isinstance(docstring.value, ast.Constant)
    assert ast.unparse(ast.Module(body, [])) == FORWARD.strip()


def test_the_forward_pass_takes_x_context_and_mask():
    for module, name, more in (
        ("attention", "MultiHeadAttention", []),
        ("fused.attention", "FusedMultiHeadAttention", ["cache"]),
    ):
        arguments = [argument.arg for argument in definition(module, name, "forward").args.args]
        assert arguments == ["self", "x", "context", "mask", *more]


TOOLS = sorted((ROOT.parent / "tools").rglob("*.py"))
FOLDERS = ("mhsa_lib/widgets", "tests/widgets", "_static")
SCRIPTS = sorted(s for f in FOLDERS for s in (ROOT.parent / f).rglob("*.*js"))


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", [*map(path, MODULES), *TOOLS], ids=str)
def test_a_file_can_be_read_in_one_sitting(file):
    assert len(lines(file)) <= 250


@pytest.mark.parametrize("file", SCRIPTS, ids=str)
def test_a_script_fits_on_two_screens_and_their_width(file):
    assert len(lines(file)) <= 150
    assert max(map(len, lines(file))) <= 100


# What a module inherits needs no words of its own.
INHERITED = {"forward", "extra_repr", "shapes", "alt", "still"}


def public(module: str) -> list[ast.FunctionDef | ast.ClassDef]:
    kinds = ast.FunctionDef, ast.ClassDef
    return [
        node
        for node in tree(module).body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_says_what_it_is(module):
    assert ast.get_docstring(tree(module))
    for node in public(module):
        assert ast.get_docstring(node), node.name
        for method in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                assert ast.get_docstring(method) or method.name in INHERITED, method.name


# Needs transformers, or is shown by the example of its caller.
NO_EXAMPLE = {"from_bert", "from_gpt2", "from_llama", "project", "html"}
READ_FIRST = [
    *("checks.values", "checks.tensors", "device", "functional", "measure", "naive"),
    *("masks.predicates", "masks.drawing", "masks.additive", "masks.polarity"),
    *("rope.pairing", "rope.rotary_split", "accept.copying", "convert.by_head"),
    *("trace.hooks", "trace.ledger", "trace.wires", "trace.editing", "trace.find"),
    *("trace.provenance", "cache.positions", "cache.remembering"),
    *("costs.formulas", "costs.variant_costs", "costs.configurations", "costs.roofline"),
    *("costs.hardware", "profiling.timing", "convert", "examples.worked"),
    *("experiments.training", "results.experiments"),
]


@pytest.mark.parametrize("module", READ_FIRST)
def test_every_public_function_shows_an_example(module):
    functions = [node for node in public(module) if isinstance(node, ast.FunctionDef)]
    without = {node.name for node in functions if ">>>" not in ast.get_docstring(node)}
    assert without <= NO_EXAMPLE


ATTENTIONS = [name for name in vars(mhsa_lib) if name.endswith("Attention")]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_shows_an_example_and_explain_every_parameter(name):
    cls = getattr(mhsa_lib, name)
    assert ">>>" in cls.__doc__
    module = cls.__module__.removeprefix("mhsa_lib.")
    arguments = definition(module, name, "__init__").args
    words = [line.strip() for line in cls.__doc__.splitlines()]
    explained = {
        part.strip()
        for line in words
        if " : " in line
        for part in line.split(" : ")[0].split(",")
    }
    assert {a.arg for a in [*arguments.args[1:], *arguments.kwonlyargs]} <= explained


VARIANTS = [m for m in MODULES if m.startswith("variants.") and "parts" not in m]
LABELS = ("Changes:", "Saves/Costs:", "Is MHA when:", "Source:")


@pytest.mark.parametrize("module", VARIANTS)
def test_a_variant_says_what_it_changes_costs_contains_and_comes_from(module):
    lines = ast.get_docstring(tree(module)).splitlines()
    labels = [label for line in lines for label in LABELS if line.startswith(label)]
    assert labels == [*LABELS]


@pytest.mark.parametrize("module", VARIANTS)
def test_variants_do_not_know_each_other(module):
    assert not {name for name in inside(imports(ast.walk(tree(module)))) if name in VARIANTS}


EXPORTED = {
    *("MultiHeadAttention", "FusedMultiHeadAttention", "default_device"),
    *("trace", "edit", "trace_ops", "remember"),
    *("GroupedQueryAttention", "MultiQueryAttention", "LatentAttention"),
    *("CollaborativeAttention", "OverlappedAttention", "MixtureOfHeadAttention"),
    "ComposedAttention",
}


def test_the_top_level_exports_exactly_the_interface():
    public = {name for name in vars(mhsa_lib) if not name.startswith("_")}
    assert {n for n in public if not isinstance(vars(mhsa_lib)[n], ModuleType)} == EXPORTED
    assert mhsa_lib.__version__


ROOMS = sorted({module for module in MODULES if "." not in module} - EXPORTED)


def test_every_room_can_be_imported_from_the_top_and_masks_are_there_at_once():
    code = f"import mhsa_lib; mhsa_lib.masks.causal; from mhsa_lib import {', '.join(ROOMS)}"
    environment = {"PYTHONPATH": str(TREE), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# The function and the package share a name, and the attribute of mhsa_lib is the function.
AS_A_PACKAGE = re.compile(r"import mhsa_lib\.trace\b|(?<!from )\bmhsa_lib\.trace\.\w")
PROSE = [TREE / "README.md", TREE / "CONTRIBUTING.md", *sorted((TREE / "book").glob("*.md"))]
NOTEBOOKS = sorted((TREE / "notebooks").glob("*.ipynb"))


def lines_of(file: Path) -> list[str]:
    """Python's own, the cells of a notebook, a page without what Sphinx reads as a path."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return [line for line in text.splitlines() if not line.startswith(".. auto")]


def takes_trace_for_a_package(lines: list[str]) -> list[str]:
    return [line for line in lines if AS_A_PACKAGE.search(line)]


@pytest.mark.parametrize(
    "file", [*TEXTS, *NOTEBOOKS, *PROSE], ids=lambda file: str(file.relative_to(TREE))
)
def test_nobody_takes_trace_for_a_package(file):
    assert takes_trace_for_a_package(lines_of(file)) == []


@pytest.mark.parametrize("line", ["import {}", "import {}.wires as w", "x = {}.wires.trace(m)"])
def test_who_takes_trace_for_a_package_is_noticed(line):
    assert takes_trace_for_a_package([line.format("mhsa_lib." + "trace")])


@pytest.mark.parametrize("line", ["from {}.wires import trace", "with {}(mha) as wires:"])
def test_who_takes_trace_for_what_it_is_is_not(line):
    assert not takes_trace_for_a_package([line.format("mhsa_lib." + "trace")])
