"""Sizes that cannot be, and the words they get with and without the shape hook."""

import pytest

from mhsa_book import costs
from mhsa_lib import functional, masks
from mhsa_lib.stages import Attend, Project, Split
from tests.helpers.drawn import rand
from tests.mhsa_lib.errors.kinds import BUILD, both

pytestmark = pytest.mark.bothways


@both
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            {"d_model": 10, "n_heads": 4},
            "n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12, or set d_head.",
        ),
        (
            {"d_model": 3, "n_heads": 4},
            "n_heads=4 does not divide d_model=3; try d_model=4, or set d_head.",
        ),
        ({"d_model": 0, "n_heads": 4}, "d_model=0 is not a size; it must be at least 1."),
        ({"d_model": -8, "n_heads": 4}, "d_model=-8 is not a size; it must be at least 1."),
        ({"d_model": 8, "n_heads": 0}, "n_heads=0 is not a size; it must be at least 1."),
        ({"d_model": 8, "n_heads": -2}, "n_heads=-2 is not a size; it must be at least 1."),
        (
            {"d_model": 8, "n_heads": 2, "d_head": 0},
            "d_head=0 is not a size; it must be at least 1.",
        ),
        (
            {"d_model": 8, "n_heads": 2, "d_head": -4},
            "d_head=-4 is not a size; it must be at least 1.",
        ),
        (
            {"d_model": 8, "n_heads": 2, "dropout": 1.0},
            "dropout=1.0 is not a probability; it must be at least 0 and less than 1.",
        ),
    ],
)
def test_sizes_that_cannot_be(kind, sizes, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        BUILD[kind](**sizes)
    assert str(error.value) == words


@both
def test_the_proposed_repairs_work(kind):
    assert BUILD[kind](8, 4).d_head == 2
    assert BUILD[kind](12, 4).d_head == 3
    assert BUILD[kind](10, 4, d_head=3).d_head == 3


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Project(0, 4, 4), "d_model=0 is not a size"),
        (lambda: Project(4, 4, -4), "d_kv_heads=-4 is not a size"),
        (lambda: Split(0), "n_heads=0 is not a size"),
        (lambda: Attend(0.5, dropout=-0.5), "dropout=-0.5 is not a probability"),
        (lambda: masks.sliding_window(0), "window=0 is not a size"),
        (lambda: masks.prefix(0), "n=0 is not a size"),
        (lambda: masks.padding([3, -1]), r"lengths=\[3, -1\] holds a negative length"),
        (lambda: costs.parameters(10, 4), "n_heads=4 does not divide d_model=10"),
        (
            lambda: functional.split_heads(rand(2, 10), 4),
            "n_heads=4 does not divide d_heads=10",
        ),
        (
            lambda: functional.share_heads(rand(4, 2, 3), 6),
            "n_kv_heads=4 does not divide n_heads=6; try n_kv_heads=3 or n_kv_heads=6.",
        ),
    ],
)
def test_sizes_that_cannot_be_elsewhere(build, words):
    with pytest.raises(ValueError, match=words):
        build()
