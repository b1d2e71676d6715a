"""The attention that gets the bad input, of either kind."""

import pytest

from tests.mhsa_lib.errors.kinds import BUILD


@pytest.fixture
def attention(kind):
    return BUILD[kind](12, 3, bias=True).double()
