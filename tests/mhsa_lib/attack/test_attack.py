"""Random cases: a few of every target always, many where time was given."""

import os

import pytest

from tests.mhsa_lib.attack.run import TARGETS, attack, one

pytestmark = pytest.mark.nohook  # torch.compile cannot trace through the shape hook

FEW = {"fused": 60, "variants": 80, "caches": 60, "trace": 60, "convert": 60}


def found(tally) -> list[str]:
    """What was found, each kind with the command that repeats it."""
    return [str(o) for o in tally.first.values() if o.status == "FINDING"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_few_random_cases_hold(target):
    tally = attack(600, 20261122, [target], quiet=True, most=FEW[target])
    assert sum(tally.counts.values()) == FEW[target]
    assert tally.counts["ok"] > FEW[target] / 4
    assert found(tally) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_many_random_cases_hold(target):
    seconds = float(os.environ["MHSA_SLOW"]) / len(TARGETS)
    assert found(attack(seconds, int(os.environ.get("MHSA_SEED", "1")), [target])) == []


def test_a_case_is_the_same_whenever_it_runs():
    for target in TARGETS:
        first, again = one(target, 12345), one(target, 12345)
        assert first.status == again.status
        assert (first.key, first.about) == (again.key, again.about)
