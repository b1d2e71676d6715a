"""A number comes from what its gradient reaches: in node, and lit under the pointer."""

import math
import re
from itertools import product

import pytest
import torch

from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import INPUTS
from mhsa_lib import masks, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.stage_stepper.drawn_steppers import SIZES, drawn, expected, numbers
from tests.mhsa_book.widgets.stage_stepper.sheet import cell, lit, said


def places(name, shape) -> list[list]:
    return [[name, *place] for place in product(*map(range, shape))]


def reached(number, wires) -> set[tuple]:
    """Places in the wires that the gradient of a number reaches, itself left out."""
    found = set()
    grads = torch.autograd.grad(
        number, list(wires.values()), retain_graph=True, allow_unused=True
    )
    for name, grad in zip(wires, grads, strict=True):
        if grad is not None:
            grad = grad.T if name.startswith("W_") else grad
            found |= {(name, *place) for place in grad.nonzero().tolist()}
    return found


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_number_comes_from_exactly_what_its_gradient_reaches(size):
    """With no mask, so that no weight is exactly zero or one."""
    n, d_model, n_heads, d_head = size
    x, attention = rand(n, d_model).requires_grad_(), mha(d_model, n_heads, d_head=d_head)
    with trace(attention) as traced:
        attention(x)
    weights = zip(INPUTS[1:], attention.parameters(), strict=True)
    known = {"x": x, **dict(weights), **traced}
    stepper = StageStepper(x, attention)
    (wires,) = node("stage_stepper/forward", ("forward", numbers(stepper)))
    asked = [place for name, wire in traced.items() for place in places(name, wire.shape)]
    calls = [(name, place, wires) for place in asked for name in ("parents", "ancestors")]
    answers = node("stage_stepper/provenance", *calls)
    for place, near, far in zip(asked, answers[::2], answers[1::2], strict=True):
        name, *at = place
        lit = {tuple(one) for one in (*near, *far) if one[0] in known}
        assert lit == reached(traced[name][tuple(at)], known) - {tuple(place)}


BRIEF = "q[0, 1] = 1.00·0.40 + 0.50·0.30 + (−1.00)·(−0.50) + 2.00·0.20 = 1.45"


def test_the_arithmetic_is_written_out():
    (wires,) = node("stage_stepper/forward", ("forward", numbers(StageStepper())))
    asked = [
        ["q", 0, 1],
        ["k_heads", 1, 0, 1],
        ["scores", 0, 0, 1],
        ["weights", 0, 0, 1],
        ["x", 0, 2],
    ]
    assert node(
        "stage_stepper/provenance", *[("arithmetic", place, wires) for place in asked]
    ) == [
        BRIEF,
        "k_heads[1, 0, 1] = k[0, 3] = 2.00: the same number, moved.",
        "scores[0, 0, 1] = 1.45 / √2 = 1.0253",
        "weights[0, 0, 1] = exp(1.0253) / (exp(0.5127) + exp(1.0253)) = 0.6254",
        "x[0, 2] = −1.00, an input.",
    ]


def worked_out(words: str) -> tuple[float, float]:
    """The written expression, evaluated, and the number written behind it."""
    expression, result = words.removesuffix(", since exp(−∞) = 0.").split(" = ")[-2:]
    for sign, code in (("·", "*"), ("−", "-"), ("√", "sqrt "), ("∞", "inf")):
        expression, result = expression.replace(sign, code), result.replace(sign, code)
    expression = re.sub(r"sqrt (\d)", r"sqrt(\1)", expression)
    known = {"exp": math.exp, "sqrt": math.sqrt, "inf": math.inf}
    return eval(expression, known), float(result)


@pytest.mark.parametrize("wire", ["q", "k", "v", "dots", "scores", "weights", "z", "y"])
def test_every_written_expression_is_right(wire):
    for stepper in (StageStepper(mask=masks.causal), drawn(3, 5, 2, 3, masks.causal)):
        (wires,) = node("stage_stepper/forward", ("forward", numbers(stepper)))
        asked = places(wire, expected(stepper)[wire].shape)
        for words in node(
            "stage_stepper/provenance", *[("arithmetic", place, wires) for place in asked]
        ):
            said, result = worked_out(words)
            assert abs(said - result) < 2e-3, words


def test_pointing_at_a_number_lights_what_it_came_from(open_figure):
    page = open_figure(StageStepper(step="split"))
    cell(page, "q", 0, 1).hover()
    assert said(page) == BRIEF
    assert lit(page, "near") == {f"x 0 {c}" for c in range(4)} | {
        f"W_Q {c} 1" for c in range(4)
    }
    cell(page, "q_heads", 0, 0, 1).hover()
    assert (lit(page, "at"), lit(page, "near")) == ({"q_heads 0 0 1"}, {"q 0 1"})
    assert lit(page, "far") == {f"x 0 {c}" for c in range(4)} | {f"W_Q {c} 1" for c in range(4)}
    page.mouse.move(0, 0)
    assert lit(page, "at") == {"q_heads 0 0 0"}
