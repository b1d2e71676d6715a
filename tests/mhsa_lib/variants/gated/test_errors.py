"""Numbers of heads and starts that make no gate are refused with a repair."""

import math

import pytest

from mhsa_lib.variants.gated import GatedAttention, HardConcrete

pytestmark = pytest.mark.bothways


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_heads": 0}, "n_heads=0 is not a size; it must be at least 1."),
        ({"log_alpha": math.inf}, "log_alpha=inf cannot be learned; start at 3.0, say."),
        ({"log_alpha": math.nan}, "log_alpha=nan cannot be learned; start at 3.0, say."),
    ],
)
def test_constants_that_make_no_gate(options, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        HardConcrete(**{"n_heads": 3, **options})
    assert str(error.value) == words


def test_heads_that_do_not_divide():
    with pytest.raises(ValueError, match="n_heads=5 does not divide d_model=12"):
        GatedAttention(12, 5)
