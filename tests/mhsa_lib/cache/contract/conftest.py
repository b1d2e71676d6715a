"""A cache of every kind, closed when the test ends."""

import pytest

from tests.mhsa_lib.cache.contract.caches import CACHES


@pytest.fixture(params=CACHES)
def kind(request):
    made = CACHES[request.param]()
    yield made
    if hasattr(made, "cache"):
        made.close()
