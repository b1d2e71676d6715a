"""The class: the worked example, masks of every form, and what it refuses."""

import math

import pytest
import torch
from torch import nn
from traitlets import TraitError

from mhsa_book import examples
from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import STEPS
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from tests.helpers.drawn import rand


def test_the_state_is_the_worked_example_in_the_orientation_of_the_formula():
    x, attention = examples.worked()
    state = StageStepper().state()
    assert state["x"] == x.tolist()
    assert state["W_Q"] == attention.project.W_Q.weight.T.tolist()
    assert state["W_O"] == attention.W_O.weight.T.tolist()
    assert (state["mask"], state["step"], state["selected"]) == ([[True] * 2] * 2, STEPS[0], [])


@pytest.mark.parametrize("mask", [masks.causal, masks.causal.dense(2, 2), torch.tensor([True])])
def test_masks_of_every_form_become_rows_of_booleans(mask):
    wanted = [[True, True]] * 2 if isinstance(mask, torch.Tensor) and mask.ndim == 1 else None
    assert StageStepper(mask=mask).mask == (wanted or [[True, False], [True, True]])


def refused(error, words, **arguments):
    with pytest.raises(error, match=words):
        StageStepper(**arguments)


def test_what_cannot_be_followed_by_hand_is_refused_in_words():
    six = MultiHeadAttention(6, 3)
    refused(ValueError, r"x is \(5, 6\).*1 to 4 tokens", x=rand(5, 6), attention=six)
    refused(ValueError, r"x is \(1, 2, 6\).*one sequence", x=rand(1, 2, 6), attention=six)
    refused(ValueError, r"x is \(0, 6\)", x=rand(0, 6), attention=six)
    refused(ValueError, "at most 6 columns", x=rand(2, 8), attention=MultiHeadAttention(8, 2))
    wide = MultiHeadAttention(4, 2, d_head=4)
    refused(ValueError, "2 heads of 4 columns", x=rand(2, 4), attention=wide)
    refused(ValueError, "x is 4 wide.*d_model=6", attention=six)
    refused(ValueError, "bias=False", attention=MultiHeadAttention(4, 2, bias=True))
    refused(
        ValueError, "standard stages", attention=MultiHeadAttention(4, 2, concat=nn.Identity())
    )
    refused(TypeError, r"to_attention\(\)", attention=FusedMultiHeadAttention(4, 2))
    refused(TypeError, "bool", mask=torch.ones(2, 2))
    refused(ValueError, r"mask \(3, 3\) does not fit", mask=torch.ones(3, 3).bool())
    refused(TraitError, "soft", step="soft")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 100.5])
def test_a_number_too_large_or_none_at_all_is_named(value):
    x = torch.zeros(2, 4, dtype=torch.float64)
    x[1, 2] = value
    refused(ValueError, r"x\[1, 2\] = .*from -100 to 100", x=x)
    stepper = StageStepper()
    with pytest.raises(ValueError, match=r"x\[1, 2\] = "):
        stepper.x = x.tolist()
    assert stepper.x == examples.worked()[0].tolist()


def test_other_sizes_need_another_stepper():
    stepper = StageStepper()
    for name, rows in (("W_O", [[1.0]]), ("x", [[1.0] * 4]), ("mask", [[True]])):
        with pytest.raises(ValueError, match=f"{name} is .*make another StageStepper"):
            setattr(stepper, name, rows)
    with pytest.raises(TypeError, match="bool"):
        stepper.mask = [[1, 1], [0, 1]]


def test_the_still_picture_and_its_words_follow_the_numbers():
    stepper = StageStepper()
    assert stepper.alt.endswith("The largest is 0.9644, of head 1, from query 0 to key 1.")
    stepper.mask = [[True, False], [True, True]]
    assert stepper.alt.endswith("The largest is 1.0000, of head 0, from query 0 to key 0.")
    assert stepper.alt in stepper.html()
