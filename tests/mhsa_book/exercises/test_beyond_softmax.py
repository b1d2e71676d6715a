"""Chapter 25: a bias for a longer sentence, and a stage that may be silent."""

import math

import pytest
import torch
from torch import nn

from mhsa_book.exercises import check
from mhsa_lib import functional
from mhsa_lib.stages import Attend


def stage(weigh):
    """An Attend whose weights are made of the scores by ``weigh``."""

    class Look(Attend):
        def attention_weights(self, q, k, mask=None):
            return weigh(functional.score(q, k, self.scale))

    return Look(scale=0.5)


def padded(scores, number=0.0):
    return torch.softmax(nn.functional.pad(scores, (0, 1), value=number), dim=-1)


def by_hand(scores):
    return scores.exp() / (1 + scores.exp().sum(dim=-1, keepdim=True))


def test_another_key_of_score_0_is_right_at_any_scale():
    quiet = stage(lambda scores: padded(scores)[..., :-1])
    assert check("quiet", quiet)
    quiet.scale = 1.0
    assert check("quiet", quiet)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Attend(scale=0.5), "Where every score is 0, a row still sums to 1, not to 0.857."),
        (stage(padded), "a column too many"),
        (stage(lambda s: padded(s, 1.0)[..., :-1]), "sums to 0.688, not to 0.857"),
        (
            stage(lambda s: padded(s)[..., :-1].flip(-1)),
            "come, the row sums are right, but not",
        ),
        (stage(lambda s: s.sigmoid()), "a row sums to 3, not to 0.857"),
        (stage(lambda s: s[0]), "the weights are (6, 6), not (1, 6, 6)."),
        (stage(lambda s: padded(s)[..., :-1].clamp(min=0.01)), "every score is very low"),
        (stage(by_hand), "for large scores it is NaN"),
        (stage(lambda s: None), "attention_weights gives NoneType"),
        (stage(lambda s: s[99]), "Trying it raises IndexError"),
        (Attend, "not its class"),
        (padded, "function is no Attend"),
        (None, "NoneType is no Attend"),
    ],
)
def test_a_stage_that_is_not_quiet_or_not_right_is_told_where(answer, said):
    assert said in check("quiet", answer).text


@pytest.mark.parametrize(
    "bias",
    [-math.log(60), -math.log(59), torch.tensor([-4.09]), nn.Parameter(torch.tensor(-4.08))],
)
def test_any_bias_near_enough_is_right(bias):
    assert check("bias_for_sixty", bias)


@pytest.mark.parametrize(
    ("bias", "said"),
    [
        (-torch.tensor(6.0).log(), "the number for 6 tokens: the row sums to 8.57."),
        (math.log(60), "The sign has to be the other one: the row sums to 59"),
        (1 / 60, "what the sigmoid should give"),
        (0, "each sigmoid is 1/2: the row sums to 30."),
        (-3.0, "Not near enough: the row sums to 2.85."),
        (float("nan"), "Not near enough"),
        (-torch.ones(60) * 4.09, "One number"),
        (True, "bool is none"),
        ("ln 60", "str is none"),
    ],
)
def test_a_bias_is_told_what_a_row_sums_to(bias, said):
    assert said in check("bias_for_sixty", bias).text


def test_a_weight_and_its_factor_are_judged_together():
    assert check("without_the_sink", (4, 0.8))
    assert "none inherits" in check("without_the_sink", (4, 0.95)).text
    assert "by what is left" in check("without_the_sink", (4 / 3, 0.8 / 3)).text
    assert not check("without_the_sink", 4)
