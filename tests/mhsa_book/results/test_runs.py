"""An experiment as a whole: compared in one line, and refused where a rule is broken."""

import pytest

from mhsa_book.results.claims import Claim, corrected
from mhsa_book.results.curves import Curve, steps_to
from mhsa_book.results.paired import Measure
from mhsa_book.results.sentences import sentence
from tests.mhsa_book.results.experiment import ARMS, arm, experiment


def test_arms_are_compared_by_final_value_and_by_steps():
    runs = experiment()
    final = runs.final("wide", "plain")
    assert final.seeds == tuple(range(8))
    assert final.difference == pytest.approx(0.07, abs=0.002)
    assert final.measure == runs.measure
    steps = runs.steps("wide", "plain")
    assert steps.bounds == ((-100, -100),) * 8
    assert runs.horizon == 2_000


def test_the_level_and_the_direction_of_steps_are_those_of_the_runs():
    runs = experiment(level=1.0)  # 95 % of it is more than plain reaches, and less than wide
    found = runs.steps("wide", "plain")
    assert found.reached == (8, 0)
    assert found.bounds[0][1] == 300 - 2_001
    plain = {seed: steps_to(c, 1.0) for seed, c in ARMS["plain"].curves.items()}
    assert set(plain.values()) == {None}


def test_steps_of_a_loss_are_called_by_the_loss_that_they_lead_to():
    loss = experiment(level=0.76, measure=Measure("loss", "nats", better="lower"))
    assert loss.steps("wide", "plain").measure.name == "time to 0.8 nats"
    assert experiment().steps("wide", "plain").measure.name == "time to 95 %"


def test_a_whole_experiment_is_said_in_a_few_lines():
    runs = experiment()
    floor = runs.final(*runs.floor)
    claims = corrected(
        Claim(runs.final("wide", "plain"), margin=0.01, floor=floor),
        Claim(runs.steps("wide", "plain"), floor=runs.steps(*runs.floor)),
    )
    first, second = map(sentence, claims)
    assert first.startswith("wide has a higher accuracy than plain, which is better: ")
    assert "A/A, plain against plain again: " in first
    assert second.startswith("wide has a lower time to 95 % than plain, which is better: ")
    assert "median difference −100 steps" in second


@pytest.mark.bothways
def test_a_curve_that_has_not_settled_is_refused_with_its_arm_and_seed():
    late = dict(ARMS) | {"late": arm(0.9, 1_500, salt=4)}
    words = r"'late', seed 0: the curve has not settled within tolerance=0\.02"
    with pytest.raises(ValueError, match=words):
        experiment(arms=late).final("late", "plain")
    # Their steps are known nevertheless.
    assert experiment(arms=late).steps("late", "plain").reached == (8, 8)


@pytest.mark.bothways
def test_an_unknown_arm_is_refused_with_those_there_are():
    words = "no arm is called 'thin'; there are: plain, plain again, wide"
    with pytest.raises(ValueError, match=words):
        experiment().final("thin", "plain")
    with pytest.raises(ValueError, match=words):
        experiment(floor=("plain", "thin"))


def test_it_says_what_it_is():
    said = "demo: Do wide heads help? 3 arms, 8 seeds, 2026-01-31"
    assert repr(experiment()) == said


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"learning_rate": 0.1},
            r"learning_rate=0\.1 is not among the rates tried, \[0\.001, ",
        ),
        ({"tuned_on": ()}, r"tuned_on=\[\], .*; tune on at least one seed, and report others"),
        ({"tuned_on": (900, 3)}, r"tuned_on=\[900, 3\], and seeds \[3\] of them are reported"),
        ({"seeds": range(7)}, "7 seeds, .*; an arm is reported with at least 8: run more"),
    ],
)
def test_an_arm_that_breaks_a_rule_is_refused(more, words):
    with pytest.raises(ValueError, match=words):
        arm(0.9, 400, 5, **more)


SHORT = {s: Curve((1, 2), (0.5, 0.5)) for s in range(8)}
OTHER_RATE = arm(0.9, 400, 5, learning_rate=0.01)


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"level": 0.0}, r"level=0\.0; it must be finite and above 0"),
        ({"tolerance": float("nan")}, "tolerance=nan; it must be finite and above 0"),
        (
            {"arms": ARMS | {"more": arm(0.9, 400, 6, seeds=range(9))}},
            "the arms have seeds .*; run",
        ),
        (
            {"floor": ("plain", "wide")},
            "are not an arm and its twin; name two arms of the same",
        ),
        ({"floor": ("plain", "plain")}, "are not an arm and its twin"),
        (
            {"arms": ARMS | {"other": OTHER_RATE}, "floor": ("plain", "other")},
            "are not an arm and its twin",
        ),
        ({"predictions": ()}, "say nothing; write down what you expect, first"),
        ({"predictions": ("  ",)}, "say nothing; write down what you expect, first"),
        (
            {"predictions_commit": "0123456"},
            "predictions_commit='0123456' is none; give its 40",
        ),
        ({"predictions_commit": "z" * 40}, "is none; give its 40 digits"),
        ({"date": "31.1.2026"}, r"date='31\.1\.2026' is no day; write 2026-01-31"),
    ],
)
def test_an_experiment_that_breaks_a_rule_is_refused(other, words):
    with pytest.raises(ValueError, match=words):
        experiment(**other)


@pytest.mark.bothways
def test_arms_that_were_trained_for_other_steps_are_refused():
    plain = ARMS["plain"]
    short = type(plain)(plain.settings, 0.003, plain.rates, plain.tuned_on, SHORT)
    with pytest.raises(ValueError, match=r"the curves end at steps \[2, 2000\]; train all for"):
        experiment(arms=ARMS | {"short": short})
