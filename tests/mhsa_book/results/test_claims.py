"""What a comparison entitles one to say."""

import pytest

from mhsa_book.results.claims import LESS, MORE, OPEN, SAME, Claim, corrected
from mhsa_book.results.paired import Paired
from tests.mhsa_book.results.comparisons import ACCURACY, LOSS, compared, constant, steps

TWIN = compared(0.002)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim(compared(0.03)), MORE),
        (Claim(compared(-0.03)), LESS),
        (Claim(compared(-0.03, LOSS)), LESS),  # the number, not its merit
        (Claim(compared(0.001)), OPEN),
        (Claim(compared(0.001), margin=0.02), SAME),
        (Claim(compared(0.001), margin=0.005), OPEN),
        (Claim(compared(0.012), margin=0.1), SAME),  # told apart, and it does not matter
        (Claim(compared(0.03), margin=0.01), MORE),
        (Claim(compared(0.03), floor=TWIN), MORE),
        (Claim(compared(0.03), floor=compared(-0.04)), OPEN),
        (Claim(constant(0.0)), OPEN),
        (Claim(constant(0.0), margin=0.01), SAME),
        (Claim(constant(0.0, n=4), margin=0.01), OPEN),  # 1/16 is too often
        (Claim(constant(0.1)), MORE),
        (Claim(constant(0.1, n=5)), OPEN),  # 2/32 is above 0.05
        (Claim(steps([10, 20, 30, 40, 50, 60], [90, None, 80, 70, 80, None])), LESS),
        (Claim(steps([10, 20, 30, 40, 50], [90, None, 80, 70, 80])), OPEN),
        (Claim(steps([10] * 8, [12] * 8), margin=5), SAME),
    ],
)
def test_the_verdict_follows_the_rule(claim, verdict):
    assert claim.verdict == verdict


def test_p_without_the_interval_tells_nothing_apart():
    # All of one sign, so p is 2/256; but one difference stretches the interval over 0.
    one_far = Paired("a", "b", ACCURACY, tuple(range(8)), (*[0.01] * 7, 3.0))
    claim = Claim(one_far)
    assert (claim.significant, claim.leaves_out_0, claim.verdict) == (True, False, OPEN)


def test_the_interval_without_p_tells_nothing_apart():
    five = Paired("a", "b", ACCURACY, tuple(range(5)), (0.1, 0.11, 0.12, 0.1, 0.11))
    claim = Claim(five)
    assert (claim.significant, claim.leaves_out_0, claim.verdict) == (False, True, OPEN)


def test_of_many_comparisons_each_counts_less():
    clear = Claim(compared(0.03))
    assert {c.verdict for c in corrected(*[clear] * 6)} == {MORE}
    seven = corrected(*[clear] * 7)
    assert {c.verdict for c in seven} == {OPEN}
    assert seven[0].p == 7 * 2 / 256
    assert seven[0].n_comparisons == 7
    assert seven[0].comparison.p == 2 / 256


def test_equivalence_is_corrected_among_those_that_have_a_margin():
    plain, same = Claim(compared(0.03)), Claim(compared(0.001), margin=0.02)
    alone = same.same_p
    first, second, third = corrected(same, plain, same)
    assert (first.same_p, third.same_p) == (2 * alone, 2 * alone)
    assert second.same_p is None
    assert first.verdict == third.verdict == SAME
    almost = Claim(compared(0.001), margin=0.0085)
    assert almost.verdict == SAME
    assert corrected(almost, almost)[0].verdict == OPEN


def test_one_claim_alone_needs_no_correction():
    claim = Claim(compared(0.03), margin=0.01, floor=TWIN)
    (found,) = corrected(claim)
    assert (found.p, found.same_p, found.floor) == (claim.p, claim.same_p, TWIN)


@pytest.mark.bothways
def test_what_cannot_be_claimed_is_refused():
    with pytest.raises(ValueError, match="margin=0 is no margin for the accuracy"):
        Claim(compared(0.0), margin=0)
    with pytest.raises(
        ValueError, match=r"the floor is in Measure\(name='loss'.* same measure"
    ):
        Claim(compared(0.0), floor=compared(0.0, LOSS))
