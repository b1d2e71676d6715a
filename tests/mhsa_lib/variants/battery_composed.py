"""Dynamically composed heads, whole and with some of the branches."""

from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import Compose, Gate, LowRank, Static
from tests.mhsa_lib.variants.entry import Variant


def without_branches(attention: MultiHeadAttention) -> ComposedAttention:
    return _with(attention, pre=Compose(), post=Compose())


def silent(attention: MultiHeadAttention) -> ComposedAttention:
    """All branches there, their last maps zero."""
    composed = _with(attention)
    for name, parameter in composed.attend.named_parameters():
        if not name.endswith("W_1.weight"):
            parameter.data.zero_()
    return composed


def _with(attention: MultiHeadAttention, **parts: Compose) -> ComposedAttention:
    bias = attention.W_O.bias is not None
    sizes = attention.d_model, attention.n_heads
    composed = ComposedAttention(*sizes, bias=bias, **parts).double()
    missing, unexpected = composed.load_state_dict(attention.state_dict(), strict=False)
    assert not unexpected
    assert all(name.startswith("attend.p") for name in missing)
    return composed


def by_query(place: str) -> Compose:
    return Compose(LowRank(12, 3, 1, place, "query"), Gate(12, 3, place, "query"))


VARIANTS = [
    Variant("ComposedAttention", lambda: ComposedAttention(12, 3, bias=True), silent),
    Variant(
        "ComposedAttention, talking heads",
        lambda: ComposedAttention(12, 3, pre=Compose(Static(3)), post=Compose(Static(3))),
        without_branches,
    ),
    Variant(
        "ComposedAttention, query side only",
        lambda: ComposedAttention(12, 3, pre=by_query("pre"), post=by_query("post")),
        without_branches,
    ),
]
