"""The long attack runs for ``MHSA_SLOW`` seconds: ``MHSA_SLOW=600 pytest …/attack``."""

import os

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("slow") and not os.environ.get("MHSA_SLOW"):
        pytest.skip("run it with MHSA_SLOW=600, the seconds it may take")
