"""The note reaches the readers that are named, through the stream and no other head."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_book.experiments import direct_paths as direct
from mhsa_book.models import words_twice
from mhsa_lib import trace


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def text(lm):
    return words_twice.twice(lm, 31, 6)


@pytest.fixture(scope="module")
def over(lm):
    return ["".join(words_twice.words(lm, 12, seed)) for seed in (300, 301)]


def wires(lm, text, layers):
    traces = [trace(lm.attention(layer)) for layer in layers]
    for each in traces:
        each.__enter__()
    lm.logits(text)
    found = [{name: each.wires[name].clone() for name in "qkv"} for each in traces]
    return found
