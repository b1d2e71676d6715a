"""Overlaps, sizes and masks that cannot be are refused."""

import pytest
import torch

from mhsa_lib.variants import OverlappedAttention
from mhsa_lib.variants.overlapped import OverlappedSplit


def on_its_own(overlap):
    return OverlappedSplit(3, overlap)(*[torch.zeros(5, 12)] * 3)


def as_a_whole(overlap):
    return OverlappedAttention(12, 3, overlap)


either = pytest.mark.parametrize("build", [on_its_own, as_a_whole])


@either
@pytest.mark.bothways
@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (
            5,
            "overlap=5 does not fit d_head=4: a head reads from its two neighbours only; "
            "use 0, which shares nothing, to 4.",
        ),
        (
            -1,
            "overlap=-1 does not fit d_head=4: a head reads from its two neighbours only; "
            "use 0, which shares nothing, to 4.",
        ),
    ],
)
def test_overlaps_that_cannot_be(build, overlap, words):
    with pytest.raises(ValueError) as found:  # noqa: PT011  the whole message is compared
        build(overlap)
    assert str(found.value) == words


@either
@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize("overlap", [1.5, True, "1", None])
def test_an_overlap_is_a_whole_number(build, overlap):
    with pytest.raises(TypeError) as found:
        build(overlap)
    assert str(found.value) == f"overlap={overlap!r} is not a whole number; pass an int."


@pytest.mark.bothways
def test_sizes_and_masks_are_refused_as_in_plain_attention():
    with pytest.raises(ValueError, match="n_heads=5 does not divide d_model=12"):
        OverlappedAttention(12, 5, 1)
    with pytest.raises(ValueError, match="n_heads=0 is not a size"):
        OverlappedSplit(0, 1)
    with pytest.raises(ValueError, match="x is 8 wide"):
        OverlappedAttention(12, 3, 1)(torch.zeros(5, 8))
    with pytest.raises(TypeError, match="bool"):
        OverlappedAttention(12, 3, 1)(torch.zeros(5, 12), mask=torch.ones(5, 5))
