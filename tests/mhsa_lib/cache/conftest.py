"""A cache of every kind, closed when the test ends."""

import pytest

from tests.mhsa_lib.cache.caches import CACHES
from tests.mhsa_lib.cache.heads import build
from tests.mhsa_lib.cache.kinds import BUILD


@pytest.fixture(params=CACHES)
def kind(request):
    made = CACHES[request.param]()
    yield made
    if hasattr(made, "stack"):
        made.close()


@pytest.fixture
def attention(request):
    return BUILD[request.param]()


@pytest.fixture
def fused(request):
    return build(request.param)
