"""The model, and how it reads six sentences, once."""

import pytest

from mhsa_book import models, roles
from tests.mhsa_book.roles.sentences import SENTENCES


@pytest.fixture(scope="session")
def model():
    return models.load()


@pytest.fixture(scope="session")
def readings(model):
    return roles.read(model, SENTENCES)
