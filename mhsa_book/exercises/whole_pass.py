"""Exercises of chapter 09, the whole pass."""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises import bugs, reference, wrong_ways
from mhsa_book.exercises import drawn_inputs as inputs
from mhsa_book.exercises.calling import by_name_or_place
from mhsa_book.exercises.drawn_inputs import drawn, matrices
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.reference import cross_attention, multi_head_attention
from mhsa_lib import masks


def _first_number_under_a_causal_mask() -> float:
    x, mha = examples.worked()
    with torch.no_grad():
        return float(mha(x, mask=masks.causal)[0, 0])


def _two_sequences() -> Iterator[dict[str, Any]]:
    for n_query, n_key, d_model, n_heads in ((1, 1, 2, 1), (2, 2, 4, 2), (2, 5, 12, 3)):
        x, context = drawn(2, n_query, d_model), drawn(2, n_key, d_model, seed=9)
        yield {"x": x, "context": context, **matrices(d_model, d_model), "n_heads": n_heads}


def _noticed(broken: Any) -> str:
    """Why a mistake is not one that only more heads show; "" if it is."""
    for n_heads in (1, 2, 3):
        for mask in (None, masks.causal.dense(5, 5)):
            given: dict[str, Any] = {"x": drawn(2, 5, 12), **matrices(12, 12)}
            given |= {"n_heads": n_heads, "mask": mask}
            right, found = multi_head_attention(**given), by_name_or_place(broken, given)
            if not isinstance(found, Tensor) or found.shape != right.shape:
                shape = tuple(right.shape)
                return f"With n_heads = {n_heads}, y should be a tensor of {shape}."
            same = torch.allclose(found, right, atol=1e-4)
            if n_heads == 1 and not same:
                under = "" if mask is None else " under a causal mask"
                return f"With one head y is wrong already{under}: that would be noticed."
            if n_heads > 1 and same:
                return f"With n_heads = {n_heads}, y is right: there is no mistake to notice."
    if _asks_for_n_heads(broken):
        return "It asks how many heads there are. Find a mistake that one makes unawares."
    return ""


def _asks_for_n_heads(function: Any) -> bool:
    """Whether its code compares n_heads or branches on it; false where no code is found."""
    try:
        nodes = list(ast.walk(ast.parse(dedent(inspect.getsource(function)))))
    except (OSError, TypeError, SyntaxError):
        return False
    asked: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            asked += [node.left, *node.comparators]
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            asked += ast.walk(node.test)
        elif isinstance(node, ast.Match):
            asked += ast.walk(node.subject)
    return any(isinstance(node, ast.Name) and node.id == "n_heads" for node in asked)


EXERCISES: dict[str, Exercise] = {
    "multi_head_attention": FunctionWithKnownMistakes(
        reference.multi_head_attention,
        inputs.whole,
        because="Equal on every input, also where a query may look at nothing.",
        mistakes=wrong_ways.WHOLES,
        exhibits=bugs.wholes(),
        axes="batch seq d_model",
        learns=True,
    ),
    "first_number": Value(
        _first_number_under_a_causal_mask,
        because="Token 0 sees only itself, so its z is its own values.",
        wrong={
            1.0: "That is the first number of concat; W_O is still to come.",
            0.4: "That is what head 0 writes. Head 1 writes into y[0, 0] too.",
            1.85: "You took a row of W_O. A number of y is a row of concat times a column.",
            2.65: "Those are the numbers of x. W_V exchanges two columns.",
        },
    ),
    "cross_attention": FunctionWithKnownMistakes(
        cross_attention,
        _two_sequences,
        because="As many rows of y as x has, each an average over the words of context.",
        mistakes=wrong_ways.CROSSES,
        exhibits=bugs.crosses(),
        axes="batch seq d_model",
        learns=True,
    ),
    "unnoticed": OpenAnswer(
        _noticed,
        because="Right with one head, wrong with two and three: test with at least two heads.",
    ),
}
