"""Roles and axes of every tensor, written once."""

import re

import pytest
import torch
from jaxtyping import Float

from mhsa_lib import shapes
from tools import ROOT

ALIASES = [
    "Tokens",
    "QueryRows",
    "KeyRows",
    "ValueRows",
    "Queries",
    "Keys",
    "Values",
    "Scores",
    "Weights",
    "HeadOutputs",
    "HeadRows",
    "Latents",
    "QueryLatents",
    "RotaryKeys",
    "LatentQueryRows",
    "LatentQueries",
    "LatentKeys",
    "WideQueries",
    "WideKeys",
    "WideValues",
    "WideHeadOutputs",
    "WideHeadRows",
]


def test_an_alias_names_its_axes():
    assert shapes.axes(shapes.Weights) == ("*batch", "head", "query", "key")
    assert shapes.axes(shapes.Tokens) == ("*batch", "query", "d_model")


@pytest.mark.parametrize("name", ALIASES)
def test_every_axis_is_explained_and_has_a_colour(name):
    for axis in shapes.axes(getattr(shapes, name)):
        colour, meaning = shapes.AXES[axis.lstrip("*")]
        assert re.fullmatch("#[0-9a-f]{6}", colour)
        assert meaning


def test_the_page_of_the_interface_lists_the_axes():
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    rows = [f"| `{axis}` | {meaning} |" for axis, (_, meaning) in shapes.AXES.items()]
    assert "\n".join(rows) in page


def test_no_two_axes_share_a_colour():
    assert len(set(shapes.AXIS_COLOURS.values())) == len(shapes.AXIS_COLOURS)


@pytest.mark.parametrize(
    ("leading", "batch"), [((), {}), ((2,), {"batch": 2}), ((2, 5), {"batch": (2, 5)})]
)
def test_batch_is_absent_a_number_or_a_tuple(leading, batch):
    sizes = shapes.sizes(shapes.Scores, (*leading, 3, 6, 7))
    assert sizes == batch | {"head": 3, "query": 6, "key": 7}


def test_too_few_axes_raise():
    with pytest.raises(ValueError, match=r"shape \(6,\) has too few axes"):
        shapes.sizes(shapes.Tokens, (6,))


def test_the_alias_is_also_the_check():
    assert isinstance(torch.zeros(2, 3, 4, 5), shapes.Scores)
    assert not isinstance(torch.zeros(4, 5), shapes.Scores)
    assert not isinstance(torch.zeros(2, 3, 4, 5, dtype=torch.bool), shapes.Scores)


def test_axes_of_a_mask_may_be_one():
    assert isinstance(torch.ones(1, 1, 1, 5, dtype=torch.bool), shapes.Mask)
    assert not isinstance(torch.ones(2, 3, 4, 5), shapes.Mask)


def test_your_own_alias_works_like_those_of_the_book():
    latent = Float[torch.Tensor, "*batch key d_latent"]
    assert shapes.sizes(latent, (2, 7, 4)) == {"batch": 2, "key": 7, "d_latent": 4}
