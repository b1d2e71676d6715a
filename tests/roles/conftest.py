"""The model, and how it reads six sentences, once."""

import pytest

from mhsa_lib import pretrained, roles
from tests.roles.sentences import SENTENCES


@pytest.fixture(scope="session")
def model():
    return pretrained.load()


@pytest.fixture(scope="session")
def readings(model):
    return roles.read(model, SENTENCES)
