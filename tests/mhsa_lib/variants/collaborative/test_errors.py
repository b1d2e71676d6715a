"""Sizes, parts and inputs that collaborative attention refuses."""

import pytest
import torch

from mhsa_lib.variants import CollaborativeAttention


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"d_shared": 0}, ValueError, "d_shared=0 is not a size; it must be at least 1."),
        (
            {"d_shared": 6, "mixing": torch.ones(6, 3)},
            ValueError,
            "mixing has shape (6, 3), but n_heads=3 and d_shared=6; pass a tensor (3, 6).",
        ),
        (
            {"scale": -0.5},
            ValueError,
            "scale=-0.5 turns the scores around; it must be above 0.",
        ),
        (
            {"dropout": 1.0},
            ValueError,
            "dropout=1.0 is not a probability; it must be at least 0 and less than 1.",
        ),
    ],
)
def test_sizes_and_parts_that_cannot_be(options, kind, words):
    with pytest.raises(kind) as error:
        CollaborativeAttention(12, 3, **options)
    assert str(error.value) == words


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_shared": 2.5}, "d_shared=2.5 is not a whole number; pass an int."),
        ({"mixing": "ones"}, "mixing is a str; pass a tensor (3, 12)."),
    ],
)
def test_parts_of_another_type_are_refused(options, words):
    with pytest.raises(TypeError) as error:
        CollaborativeAttention(12, 3, **options)
    assert str(error.value) == words


@pytest.mark.bothways
def test_a_width_that_does_not_divide_is_told_the_repair():
    with pytest.raises(ValueError, match="n_heads=4 does not divide d_model=10; try d_model=8"):
        CollaborativeAttention(10, 4)
    assert CollaborativeAttention(10, 4, d_head=3).d_shared == 12


@pytest.mark.bothways
def test_tokens_of_another_width_or_type_are_refused():
    layer = CollaborativeAttention(12, 3, 6)
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(2, 5, 8\), but d_model=12"):
        layer(torch.zeros(2, 5, 8))
    with pytest.raises(TypeError, match=r"context has dtype torch.int64"):
        layer(torch.zeros(5, 12), torch.zeros(5, 12, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        layer(torch.zeros(2, 5, 12), torch.zeros(3, 5, 12))
