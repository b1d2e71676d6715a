"""The law of the library, read from its source: layers, sizes, the five lines, docstrings."""

import ast
from pathlib import Path

import pytest

import mhsa_lib

ROOT = Path(mhsa_lib.__file__).parent

# A module may import modules before it, none after it. A new module has to find its place here.
ORDER = [
    "shapes",
    "checks",
    "device",
    "timing",
    "peak",
    "functional",
    "plain",
    "packing",
    "onednn",
    "reach",
    "rules",
    "masks",
    "measure",
    "ops",
    "stages",
    "hooks",
    "attention",
    "carried",
    "stretches",
    "rope",
    "routing",
    "places",
    "composition",
    "variants.composed",
    "variants.collaborative",
    "variants.grouped",
    "variants.latent",
    "known",
    "variants.mixture",
    "variants.overlapped",
    "variants",
    "llama_stages",
    "naive",
    "absorbed",
    "ledger",
    "trace",
    "cache",
    "slots",
    "preallocated",
    "cuts",
    "tiles",
    "flex",
    "written",
    "choice",
    "kernels",
    "varlen",
    "ragged",
    "fused",
    "fused_latent",
    "shares",
    "ranks",
    "parallel_report",
    "parallel",
    "costs",
    "variant_costs",
    "configurations",
    "roofline",
    "hardware",
    "convert_source",
    "convert_latent",
    "convert_llama",
    "convert_bert",
    "convert_gpt2",
    "convert_torch",
    "convert",
    "decomposition",
    "symmetries",
    "pooling",
    "peers",
    "difference",
    "training",
    "results",
    "experiments",
    "experiments.collaborative",
    "experiments.composed",
    "experiments.grouped",
    "experiments.mixture",
    "experiments.overlapped",
    "recording",
    "empty_row",
    "wall",
    "pretrained",
    "examples",
    "repetition",
    "repeater",
    "bench.cells",
    "bench.records",
    "bench.stored",
    "bench.tables",
    "bench",
    # --- from here on, pictures and widgets
    "plots.style",
    "plots.charts",
    "plots.contribution",
    "plots.heat",
    "plots.kinds",
    "plots.pipe",
    "plots.ratios",
    "plots.roof",
    "plots.spread",
    "plots.signed",
    "plots.squares",
    "plots",
    "bench.heap",
    "bench.clock",
    "bench.machine",
    "bench.problem",
    "bench.rivals",
    "bench.libraries",
    "bench.hugging_face",
    "bench.decoding",
    "bench.decoding_libraries",
    "bench.registry",
    "bench.profiles",
    "bench.reasons",
    "bench.judge",
    "bench.memory",
    "bench.suites",
    "bench.cuda_core",
    "bench.cuda",
    "bench.__main__",
    "bertviz_page",
    "bertviz_adapter",
    "widgets.figure",
    "widgets.sizes",
    "widgets.repeater_lab",
    "widgets.packed",
    "widgets.head_explorer",
    "widgets.head_budget",
    "widgets.cost_lab",
    "widgets.cache_calculator",
    "widgets.mask_lab",
    "widgets.output_sum",
    "widgets.pass_stepper",
    "widgets.predict",
    "widgets.scale_lab",
    "widgets.recipes",
    "widgets.shape_tracer",
    "widgets.stage_stepper",
    "widgets",
]
BELOW_PICTURES = ORDER[: ORDER.index("plots.style")]
PICTURES = {"matplotlib", "ipywidgets", "anywidget", "bertviz", "IPython", "seaborn", "plotly"}
OPTIONAL = PICTURES | {"transformers", "huggingface_hub", "safetensors"}

# Any file can be read in one sitting: 200 lines, and these that need more.
LONGER = {
    "cache": 285,
    "places": 265,
    "stages": 225,
    "checks": 320,
    "convert_source": 230,
    "rope": 265,
    "stretches": 205,
    "configurations": 215,
    "variants.latent": 230,
    "variants.overlapped": 235,
    "known": 340,
    "difference": 215,
    "masks": 335,
    "fused": 305,
    "preallocated": 245,
    "onednn": 305,
    "tiles": 240,
    "kernels": 245,
    "trace": 285,
    "wall": 300,
    "composition": 210,
    "plots.heat": 225,
}


def path(module: str) -> Path:
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return file if file.exists() else ROOT / module / "__init__.py"


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


def test_every_module_has_its_place():
    files = {file.relative_to(ROOT).with_suffix("") for file in ROOT.rglob("*.py")}
    modules = {".".join(file.parts).removesuffix(".__init__") for file in files} - {"__init__"}
    assert modules == set(ORDER)


@pytest.mark.parametrize("module", ORDER)
def test_imports_point_strictly_down(module):
    used = inside(imports(ast.walk(tree(module))))
    assert "mhsa_lib" not in imports(ast.walk(tree(module)))
    assert used <= set(ORDER[: ORDER.index(module)])


@pytest.mark.parametrize("module", BELOW_PICTURES)
def test_the_layers_below_the_pictures_import_none(module):
    top = {name.split(".")[0] for name in imports(ast.walk(tree(module)))}
    assert top.isdisjoint(PICTURES)


@pytest.mark.parametrize("module", BELOW_PICTURES)
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
    assert reached <= set(BELOW_PICTURES)
    assert {"wall", "examples"}.isdisjoint(reached)


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


@pytest.mark.parametrize("module", ORDER)
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
        ("fused", "FusedMultiHeadAttention", ["cache"]),
    ):
        arguments = [argument.arg for argument in definition(module, name, "forward").args.args]
        assert arguments == ["self", "x", "context", "mask", *more]


@pytest.mark.parametrize("module", ORDER)
def test_a_file_can_be_read_in_one_sitting(module):
    n_lines = len(path(module).read_text(encoding="utf-8").splitlines())
    assert n_lines <= LONGER.get(module, 200)


@pytest.mark.parametrize("module", LONGER)
def test_a_longer_file_is_named_only_while_it_is_longer(module):
    assert len(path(module).read_text(encoding="utf-8").splitlines()) > 200


# What a module inherits needs no words of its own.
INHERITED = {"forward", "extra_repr", "shapes", "alt", "still"}


def public(module: str) -> list[ast.FunctionDef | ast.ClassDef]:
    kinds = ast.FunctionDef, ast.ClassDef
    return [
        node
        for node in tree(module).body
        if isinstance(node, kinds) and not node.name.startswith("_")
    ]


@pytest.mark.parametrize("module", ORDER)
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
    "checks",
    "device",
    "functional",
    "masks",
    "naive",
    "measure",
    "hooks",
    "ledger",
    "trace",
    "costs",
    "configurations",
    "roofline",
    "hardware",
    "timing",
    "convert",
    "examples",
    "rope",
    "places",
    "training",
    "results",
    "variant_costs",
    "recording",
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


LABELS = ("Changes:", "Saves/Costs:", "Is MHA when:", "Source:")


@pytest.mark.parametrize("module", [m for m in ORDER if m.startswith("variants.")])
def test_a_variant_says_what_it_changes_costs_contains_and_comes_from(module):
    lines = ast.get_docstring(tree(module)).splitlines()
    labels = [label for line in lines for label in LABELS if line.startswith(label)]
    assert labels == [*LABELS]


@pytest.mark.parametrize("module", [m for m in ORDER if m.startswith("variants.")])
def test_variants_do_not_know_each_other(module):
    assert not {name for name in inside(imports(ast.walk(tree(module)))) if "variants" in name}


def test_the_names_of_the_interface_are_exported():
    for name in (
        "MultiHeadAttention",
        "FusedMultiHeadAttention",
        "Stage",
        "Wire",
        "Project",
        "Split",
        "Attend",
        "Concat",
        "trace",
        "edit",
        "trace_ops",
        "remember",
        "variants",
        "masks",
        "default_device",
    ):
        assert hasattr(mhsa_lib, name), name
