"""The attention of a kind, for tests that are about each of them."""

import pytest

from tests.mhsa_lib.cache.remembering.kinds import BUILD


@pytest.fixture
def attention(request):
    return BUILD[request.param]()
