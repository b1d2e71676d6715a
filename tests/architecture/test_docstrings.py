"""What every public name, attention and variant says of itself."""

import ast

import pytest

import mhsa_lib
from tests.architecture.library import MODULES, VARIANTS, definition, tree

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
    *("rope.pairing", "rope.rotary_split", "accept.parameters", "convert.by_head"),
    *("trace.hooks", "trace.ledger", "trace.wires", "trace.editing", "trace.find"),
    *("trace.provenance", "cache.positions", "cache.remembering"),
    *("costs.formulas", "costs.variant_costs", "costs.configurations", "costs.roofline"),
    *("costs.hardware", "profiling.timing", "convert", "examples.two_tokens"),
    *("experiments.training", "results.decimals", "results.student"),
    *("results.sign_flips", "results.holm", "results.paired", "results.censored"),
    *("results.curves", "results.claims", "results.sentences", "results.whole"),
    *("checks.ids", "cache.fixed", "transformer.ids", "transformer.layers"),
    *("transformer.model", "transformer.decoding"),
    "results.bootstrap",
    *(f"roles.{name}" for name in ("words", "looking", "halves", "rarest", "ranks")),
    *(f"examples.language.{name}" for name in ("translation", "drawing", "needed")),
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


@pytest.mark.parametrize("module", VARIANTS)
def test_a_variant_says_what_it_changes_costs_contains_and_comes_from(module):
    lines = ast.get_docstring(tree(module)).splitlines()
    labels = [label for line in lines for label in LABELS if line.startswith(label)]
    assert labels == [*LABELS]
