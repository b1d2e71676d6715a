"""Every wire of the page is that of PyTorch."""

import torch

from mhsa_book import examples
from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import INPUTS
from mhsa_lib import masks, trace
from tests.helpers.drawn import rand
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.stage_stepper.drawn_steppers import (
    SIZES,
    drawn,
    expected,
    numbers,
    tensor,
)

BLIND = torch.tensor([[False, False], [True, False]])


def test_every_wire_is_that_of_pytorch():
    steppers = [drawn(n, *size, torch.rand(n, n) < 0.6) for n, *size in SIZES * 8]
    found = node(
        "stage_stepper/forward", *[("forward", numbers(stepper)) for stepper in steppers]
    )
    for stepper, wires in zip(steppers, found, strict=True):
        wanted = expected(stepper)
        assert set(wires) - set(wanted) == {*INPUTS, "mask"}
        for name, wire in wanted.items():
            torch.testing.assert_close(tensor(wires[name]), wire, atol=1e-5, rtol=1e-5)


def test_the_wires_of_python_are_those_of_the_attention():
    x, attention = rand(3, 6).float(), examples.random_attention(6, 2)
    with torch.no_grad(), trace(attention) as wires:
        attention(x, mask=masks.causal)
    for name, wire in StageStepper(x, attention, masks.causal).wires().items():
        torch.testing.assert_close(wire.float(), wires[name])


def test_a_query_that_sees_nothing_gets_zeros():
    (wires,) = node("stage_stepper/forward", ("forward", numbers(StageStepper(mask=BLIND))))
    assert wires["weights"][0][0] == wires["z"][1][0] == [0, 0]
    assert wires["y"][0] == [0, 0, 0, 0]
    assert wires["weights"][0][1] == [1, 0]
