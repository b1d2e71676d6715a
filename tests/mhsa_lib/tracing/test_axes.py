"""The axes of a wire are those that its stage says it returns."""

import pytest
from jaxtyping import Float
from torch import Tensor, nn

from mhsa_lib import MultiHeadAttention, shapes, trace
from mhsa_lib.stages import Stage
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.names import NAMES

OneHead = Float[Tensor, "*batch query d_head"]
Gated = Float[Tensor, "*batch query d_gate"]


def test_axes_that_disagree_raise():
    class Wrong(Stage):
        wires = ("concat",)

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
        wires = ("gated",)

        def forward(self, rows: Tensor) -> Gated:
            return super().forward(rows)

    attention = mha(W_O=Gate(12, 5).double())
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    assert list(wires)[-2:] == ["gated", "y"]
    assert wires.steps["gated"].axes == {"batch": 2, "query": 5, "d_gate": 5}
    assert wires.steps["y"].result == "view"
    assert shapes.axes(attention.W_O.shapes()["gated"])[-1] == "d_gate"


class Plain(MultiHeadAttention):
    """Overrides the pass and says nothing of its shape."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask)


class Unsaid(Stage):
    wires = ("concat",)

    def forward(self, z):
        return z.transpose(-2, -3).flatten(-2)


class Said(Unsaid):
    def forward(self, z) -> Tensor:
        return super().forward(z)


class Elsewhere(Unsaid):
    def forward(self, z) -> "Nowhere":  # noqa: F821
        return super().forward(z)


class Fewer(Stage):
    wires = ("concat", "more")

    def forward(self, z) -> OneHead:
        return z


def test_a_subclass_that_says_no_shape_has_that_of_its_base():
    attention, x = Plain(12, 3).double(), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    assert wires.steps["y"].axes == {"batch": 2, "query": 5, "d_model": 12}


@pytest.mark.bothways
@pytest.mark.parametrize("stage", [Unsaid, Said, Elsewhere, Fewer])
def test_a_stage_that_says_no_shape_is_refused_at_once(stage):
    words = (
        f"{stage.__name__}.forward does not say the shapes of its wires concat.*; annotate "
        f"what it returns, one alias of mhsa_lib.shapes for each wire"
    )
    with pytest.raises(TypeError, match=words), trace(mha(concat=stage())):
        pass


def test_a_stage_without_wires_needs_no_shape():
    class Quiet(Stage):
        def forward(self, z):
            return z.transpose(-2, -3).flatten(-2)

    with trace(attention := mha(concat=Quiet())) as wires:
        attention(rand(2, 5, 12))
    assert list(wires) == [name for name in NAMES if name != "concat"]
