"""The fused attention of a kind, for tests that are about each of them."""

import pytest

from tests.mhsa_lib.cache.static.heads import build


@pytest.fixture
def fused(request):
    return build(request.param)
