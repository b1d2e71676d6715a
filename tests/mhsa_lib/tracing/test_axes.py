"""The axes of a wire are those that its stage gives it."""

import pytest
from jaxtyping import Float
from torch import Tensor, nn

from mhsa_lib import MultiHeadAttention, shapes, trace
from mhsa_lib.stages import Concat, Stage
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.names import NAMES

OneHead = Float[Tensor, "*batch query d_head"]
Gated = Float[Tensor, "*batch query d_gate"]


def test_axes_that_disagree_raise():
    class Wrong(Stage):
        wires = {"concat": OneHead}

        def forward(self, z: Tensor) -> OneHead:
            return z.transpose(-2, -3).flatten(-2)

    attention = mha(concat=Wrong())
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    with pytest.raises(
        ValueError, match="axis 'd_head' is 12 in wire 'concat' but 4 before it"
    ):
        _ = wires.sizes


def test_a_stage_of_your_own_appears_with_its_wires_and_axes():
    class Gate(nn.Linear, Stage):
        wires = {"gated": Gated}

        def forward(self, rows: Tensor) -> Gated:
            return super().forward(rows)

    attention = mha(W_O=Gate(12, 5).double())
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    assert list(wires)[-2:] == ["gated", "y"]
    assert wires.steps["gated"].axes == {"batch": 2, "query": 5, "d_gate": 5}
    assert wires.steps["y"].result == "view"
    assert shapes.axes(attention.W_O.wires["gated"])[-1] == "d_gate"


class Plain(MultiHeadAttention):
    """Overrides the pass and says nothing of its shape."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask)


def test_a_subclass_that_says_no_shape_has_that_of_its_base():
    attention, x = Plain(12, 3).double(), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    assert wires.steps["y"].axes == {"batch": 2, "query": 5, "d_model": 12}


def test_a_stage_that_returns_more_than_its_wires_is_refused():
    class Twice(Concat):
        def forward(self, z):
            return z, z

    attention = mha(concat=Twice())
    words = "Twice returned 2 values, but has 1 wires: concat"
    with pytest.raises(ValueError, match=words), trace(attention):
        attention(rand(2, 5, 12))


def test_a_stage_without_wires_needs_no_shape():
    class Quiet(Stage):
        def forward(self, z):
            return z.transpose(-2, -3).flatten(-2)

    with trace(attention := mha(concat=Quiet())) as wires:
        attention(rand(2, 5, 12))
    assert list(wires) == [name for name in NAMES if name != "concat"]
