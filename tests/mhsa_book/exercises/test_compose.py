"""Chapter 24: a static map that exchanges two heads, and a branch that takes the mean."""

import pytest
import torch
from torch import nn

from mhsa_book.exercises import check
from mhsa_lib.variants.composed import Branch, Static


def branch(mix):
    """A class of branches without maps."""

    class Vote(Branch):
        def forward(self, tokens):
            return None

        def mix(self, a, maps):
            return mix(a)

    return Vote


def mean(a):
    return a.mean(dim=-3, keepdim=True)


class Learned(Branch):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.ones(1))


def test_a_mean_however_written_is_right():
    assert check("vote", branch(lambda a: mean(a) - a))
    assert check("vote", branch(lambda a: mean(a).expand_as(a) - a))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (branch(mean), "(3, 1, 2): the mean is added to a, and a is still there."),
        (branch(lambda a: a - mean(a)), "the sign is wrong"),
        (branch(lambda a: a * 0), "it adds nothing"),
        (branch(lambda a: a.mean(dim=-1, keepdim=True) - a), "do not have their mean"),
        (branch(lambda a: a.mean(dim=0) - a), "(2, 3, 2, 2): the heads do not have their mean"),
        (branch(lambda a: a.mean()[None, None, None, None] - a), "cannot be added"),
        (branch(lambda a: "mean"), "mix gives str"),
        (branch(lambda a: a[99]), "Trying it raises IndexError"),
        (Learned, "It has parameters"),
        (lambda: Static(3), "It has parameters"),
        (lambda: mean, "It makes function, which is no Branch."),
        (Branch(), "Vote, not Vote()"),
        (None, "Hand over the class"),
    ],
)
def test_a_branch_that_does_something_else_is_told_what(answer, said):
    assert said in check("vote", answer).text


def test_a_branch_of_dots_is_unfilled():
    assert check("vote", branch(lambda a: ...)).state == "unfilled"
    assert check("vote", branch(lambda a: None)).state == "unfilled"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]], "a itself is added"),
        ([[1.0, -1, 0], [-1, 1, 0], [0, 0, 0]], "signs are turned"),
        ([[-1.0, 1, 0], [1, -1, 0], [0, 0, 1]], "Head 2 has itself twice"),
        ([[-1.0, 0, 1], [1, -1, 0], [0, 1, -1]], "head 2 should stay"),
        ([[1.0, 0, 0]], "is not it"),
    ],
)
def test_a_map_that_exchanges_otherwise_is_told_how(rows, said):
    assert said in check("heads_exchanged", torch.tensor(rows)).text


def test_the_exchange_is_right_in_any_type():
    rows = [[-1, 1, 0], [1, -1, 0], [0, 0, 0]]
    assert check("heads_exchanged", torch.tensor(rows))
    assert check("heads_exchanged", nn.Parameter(torch.tensor(rows).double()))


def test_composed_numbers_may_be_rounded_or_a_tensor():
    assert check("composed_numbers", (0.5, 0.2, 1.55))
    assert check("composed_numbers", torch.tensor([0.5, 0.2, 1.55]))
    assert "a itself stays" in check("composed_numbers", [0, 0, 1.25]).text
    assert "without the gate" in check("composed_numbers", [0.5, 0.2, 1.7]).text
    assert not check("composed_numbers", 1.55)
