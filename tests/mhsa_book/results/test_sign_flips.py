"""The sign-flip test: by hand, by definition, uniform under the null, ties and all."""

from itertools import product
from random import Random

import pytest

from mhsa_book.results.decimals import decimal
from mhsa_book.results.sign_flips import EXACT, least_p, sign_flip_p


def test_a_case_done_by_hand():
    # 3 + 1 − 2 = 2. Sums of ±3 ±1 ±2: ±6, ±4, ±2, 0, 0; six of eight are 2 or more from 0.
    assert sign_flip_p([3, 1, -2]) == 6 / 8


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_share_of_all_choices_of_signs(seed):
    random = Random(seed)
    differences = [random.randint(-4, 6) for _ in range(7)]
    far = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        >= abs(sum(differences))
        for signs in product((1, -1), repeat=7)
    ]
    assert sign_flip_p(differences) == sum(far) / 2**7


def test_all_of_one_sign_give_the_least_p():
    for n in range(1, EXACT + 1):
        assert sign_flip_p([0.25] * n) == least_p(n) == 2 / 2**n
    assert sign_flip_p([0.1, 0.2, 0.3, 0.15, 0.4, 0.1, 0.7, 0.3]) == 2 / 256


def test_swapping_the_arms_changes_nothing():
    differences = [0.3, -0.1, 0.25, 0.7, -0.6]
    assert sign_flip_p(differences) == sign_flip_p([-d for d in differences])


def test_arms_that_are_the_same_give_1():
    assert sign_flip_p([0.0] * 8) == 1


def test_decimals_tie_although_floats_do_not():
    assert 0.1 + 0.2 - 0.3 != 0
    # 0.1 + 0.2 − 0.3 = 0, so every sum is as far from 0.
    assert sign_flip_p([0.1, 0.2, -0.3]) == 1
    # 0.1 + 0.7 − 0.3 = 0.5 ties with 0.3 + 0.7 − 0.5 … : by hand, as whole tenths.
    assert sign_flip_p([0.1, 0.7, -0.3]) == sign_flip_p([1, 7, -3])


def test_under_the_null_p_is_uniform():
    random, found = Random(0), []
    for _ in range(2_000):
        found.append(sign_flip_p([random.gauss(0, 1) for _ in range(8)]))
    for k in (1, 3, 6, 13, 32, 64, 96):  # p is one of 1/128, 2/128, …
        share = sum(p <= k / 128 for p in found) / 2_000
        deviation = (k / 128 * (1 - k / 128) / 2_000) ** 0.5
        assert abs(share - k / 128) < 3.5 * deviation


def test_beyond_sixteen_signs_are_drawn_and_the_found_one_counts():
    assert sign_flip_p([1.0] * 40, draws=99) == 1 / 100
    assert sign_flip_p([0.0] * 17) == 1
    random = Random(1)
    differences = [random.gauss(0.2, 1) for _ in range(17)]
    exact = sign_flip_p(differences[:16])
    drawn = sign_flip_p([*differences[:16], 0.0])  # a seventeenth that no sign changes
    assert drawn == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 9_999) ** 0.5)
    assert drawn == sign_flip_p([*differences[:16], 0.0])
    assert drawn != sign_flip_p([*differences[:16], 0.0], seed=1)


@pytest.mark.bothways
def test_what_cannot_be_flipped_is_refused():
    with pytest.raises(ValueError, match="no differences, 0 in number; pass at least 1"):
        sign_flip_p([])
    with pytest.raises(ValueError, match="inf is no measured number; pass finite ones"):
        sign_flip_p([1.0, float("inf")])
    with pytest.raises(ValueError, match="draws=0 is not a size"):
        sign_flip_p([1.0], draws=0)
    with pytest.raises(ValueError, match="nan is no measured number"):
        decimal(float("nan"))
