"""Random cases: a few of every target always, many where time was given."""

import os

import pytest

from tests.attack.known import KNOWN, known
from tests.attack.run import TARGETS, attack, one

pytestmark = pytest.mark.nohook  # torch.compile cannot trace through the shape hook

FEW = {"fused": 60, "variants": 80, "caches": 60, "trace": 60, "convert": 60}


def new(tally) -> list[str]:
    """What was found and is not known yet, each with the command that repeats it."""
    outcomes = tally.first.values()
    return [str(o) for o in outcomes if o.status == "FINDING" and not known(o.key)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_few_random_cases_hold(target):
    tally = attack(600, 20261122, [target], quiet=True, most=FEW[target])
    assert sum(tally.counts.values()) == FEW[target]
    assert tally.counts["ok"] > FEW[target] / 4
    assert new(tally) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_many_random_cases_hold(target):
    seconds = float(os.environ["MHSA_SLOW"]) / len(TARGETS)
    assert new(attack(seconds, int(os.environ.get("MHSA_SEED", "1")), [target])) == []


@pytest.mark.slow
@pytest.mark.parametrize("each", KNOWN, ids=lambda each: each.case)
def test_a_known_fault_is_still_there_or_its_line_goes(each):
    outcome = one(*_parsed(each.case))
    assert outcome.status == "FINDING", f"mended: delete {each} from known.py"
    assert known(outcome.key) == each


def test_a_case_is_the_same_whenever_it_runs():
    for target in TARGETS:
        first, again = one(target, 12345), one(target, 12345)
        assert first.status == again.status
        assert (first.key, first.about) == (again.key, again.about)


def _parsed(case: str) -> tuple[str, int]:
    target, _, number = case.partition(":")
    return target, int(number)
