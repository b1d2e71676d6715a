"""The model, loaded once."""

import pytest

from mhsa_book.models import minilm


@pytest.fixture(scope="session")
def model():
    return minilm.load("all-MiniLM-L6-v2")
