"""What an experiment refuses before anything is trained."""

from dataclasses import replace

import pytest
import torch

from mhsa_book.experiments.design import Question
from mhsa_book.experiments.training import updates
from mhsa_book.experiments.trials import trial
from tests.mhsa_book.experiments.tiny import TINY, repeat, table


def test_a_question_asks_about_what_is_measured():
    with pytest.raises(ValueError, match=r"about='speed' is not measured; ask about one of"):
        Question("a", "b", "speed")


def test_steps_end_in_an_evaluation():
    with pytest.raises(ValueError, match=r"n_steps=321 is no multiple of every=8"):
        replace(TINY, n_steps=321)


def test_questions_and_floor_are_about_arms_there_are():
    with pytest.raises(ValueError, match=r"no arms are called \['no arm'\]; there are: copy"):
        replace(TINY, questions=(Question("copy", "no arm"),))
    with pytest.raises(ValueError, match=r"no arms are called \['none'\]"):
        replace(TINY, floor=("copy", "none"))


@pytest.mark.parametrize(
    "floor", [("copy", "copy"), ("copy", "constant"), ("copy again", "copy")]
)
def test_the_floor_is_an_arm_and_its_twin(floor):
    with pytest.raises(ValueError, match="are not an arm and its twin"):
        replace(TINY, floor=floor)


def test_a_trial_of_no_arm_is_refused():
    with pytest.raises(ValueError, match=r"no arm is called 'none'; there are: copy, constant"):
        trial(TINY, "none", 0.1, 0)


def test_a_short_trial_is_the_beginning_of_the_whole():
    whole, short = (trial(TINY, "copy", 0.1, 0, n_steps=n) for n in (0, 40))
    assert short.steps == tuple(range(8, 41, 8))
    assert short.values == whole.values[:5]


def test_the_rate_rises_and_stays():
    slow = replace(TINY, warm=10_000)
    assert trial(slow, "copy", 0.1, 0).values[-1] < trial(TINY, "copy", 0.1, 0).values[-1]


def test_an_extra_loss_reaches_the_model():
    heavy = replace(TINY.arms["copy"], extra=lambda model: 100 * model.weight.square().sum())
    arms = {**TINY.arms, "heavy": heavy}
    pulled = trial(replace(TINY, arms=arms), "heavy", 0.1, 0)
    assert pulled.values != trial(TINY, "copy", 0.1, 0).values


def test_what_is_evaluated_is_the_mean_of_the_weights_so_far():
    """Each step's weights count 1 % less than those of the next."""
    seen = []

    def score(model, draw):
        seen.append(model.module.weight.detach().clone())
        return 0.0

    watched = replace(TINY, score=score, every=1)
    trial(watched, "copy", 0.1, 0, n_steps=30)
    torch.manual_seed(0)
    model = table()
    training = updates(
        model, repeat, seed=0, learning_rate=0.1, schedule=lambda step: min(1, (step + 1) / 10)
    )
    mean = None
    for found, _ in zip(seen, training, strict=False):
        weight = model.weight.detach()
        mean = weight.clone() if mean is None else 0.99 * mean + 0.01 * weight
        torch.testing.assert_close(found, mean)
