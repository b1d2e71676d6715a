"""The model, loaded once."""

import pytest

from mhsa_book import models


@pytest.fixture(scope="session")
def lm():
    return models.load("SmolLM2-135M")
