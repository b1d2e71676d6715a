"""What every public name, attention and variant says of itself."""

import ast

import pytest

import mhsa_lib
from tests.architecture.library import MODULES, VARIANTS, definition, tree

# What a module inherits needs no words of its own.
INHERITED = {"forward", "extra_repr", "alt", "still", "fixed", "to"}


def public(module: str) -> list[ast.FunctionDef | ast.ClassDef]:
    kinds = ast.FunctionDef, ast.ClassDef
    return [
        node
        for node in tree(module).body
        if isinstance(node, kinds) and not node.name.startswith("_") and not is_overload(node)
    ]


def is_overload(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether it is only a signature; what it says stands at the function itself."""
    return any(ast.unparse(each) == "overload" for each in node.decorator_list)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_says_what_it_is(module):
    assert ast.get_docstring(tree(module))
    for node in public(module):
        assert ast.get_docstring(node), node.name
        for method in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                assert ast.get_docstring(method) or method.name in INHERITED, method.name


# Needs transformers, or is shown by the example of its caller.
NO_EXAMPLE = {"from_bert", "from_gpt2", "from_llama", "project", "table"}
SHOW_EXAMPLES = [
    "mhsa_lib.device",
    "mhsa_lib.functional",
    "mhsa_book.measure",
    "mhsa_lib.masks.predicates",
    "mhsa_lib.rope.rotary",
    "mhsa_lib.rope.rotary",
    "mhsa_lib.copying",
    "mhsa_lib.convert.grouping",
    "mhsa_lib.tracing.hooks",
    "mhsa_lib.tracing.drawing",
    "mhsa_lib.tracing.wires",
    "mhsa_lib.tracing.editing",
    "mhsa_lib.tracing.find",
    "mhsa_lib.cache.positions",
    "mhsa_lib.cache.driving",
    "mhsa_lib.cache.memory",
    "mhsa_lib.convert",
    "mhsa_book.transformer.checks",
    "mhsa_book.models.byte_pairs",
    "mhsa_book.models.memory",
    "mhsa_book.models.switching",
    "mhsa_book.naive",
    "mhsa_book.provenance",
    "mhsa_book.costs.formulas",
    "mhsa_book.costs.variant_costs",
    "mhsa_book.costs.configurations",
    "mhsa_book.costs.roofline",
    "mhsa_book.costs.hardware",
    "mhsa_book.profiling.timing",
    "mhsa_book.examples.two_tokens",
    "mhsa_book.experiments.training",
    "mhsa_book.results.decimals",
    "mhsa_book.results.sign_flips",
    "mhsa_book.results.holm",
    "mhsa_book.results.paired",
    "mhsa_book.results.censored",
    "mhsa_book.results.curves",
    "mhsa_book.results.claims",
    "mhsa_book.results.sentences",
    "mhsa_book.results.whole",
    "mhsa_book.transformer.ids",
    "mhsa_book.transformer.layers",
    "mhsa_book.transformer.model",
    "mhsa_book.transformer.decoding",
    "mhsa_book.results.bootstrap",
    "mhsa_book.roles.words",
    "mhsa_book.roles.looking",
    "mhsa_book.roles.halves",
    "mhsa_book.roles.rarest",
    "mhsa_book.roles.ranks",
    "mhsa_book.examples.language.translation",
    "mhsa_book.examples.language.drawing",
    "mhsa_book.examples.language.needed",
]


@pytest.mark.parametrize("module", SHOW_EXAMPLES)
def test_every_public_function_shows_an_example(module):
    functions = [node for node in public(module) if isinstance(node, ast.FunctionDef)]
    without = {node.name for node in functions if ">>>" not in ast.get_docstring(node)}
    assert without <= NO_EXAMPLE


ATTENTIONS = [name for name in vars(mhsa_lib) if name.endswith("Attention")]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_shows_an_example_and_explain_every_parameter(name):
    cls = getattr(mhsa_lib, name)
    assert ">>>" in cls.__doc__
    arguments = definition(cls.__module__, name, "__init__").args
    words = [line.strip() for line in cls.__doc__.splitlines()]
    explained = {
        part.strip()
        for line in words
        if " : " in line
        for part in line.split(" : ")[0].split(",")
    }
    assert {a.arg for a in [*arguments.args[1:], *arguments.kwonlyargs]} <= explained


LABELS = ("Changes:", "Saves/Costs:", "Is MHA when:", "Source:")


@pytest.mark.parametrize("module", VARIANTS)
def test_a_variant_says_what_it_changes_costs_contains_and_comes_from(module):
    lines = ast.get_docstring(tree(module)).splitlines()
    labels = [label for line in lines for label in LABELS if line.startswith(label)]
    assert labels == [*LABELS]
