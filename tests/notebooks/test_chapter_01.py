"""What chapter 01 says of a real model, and what has to stand in its text."""

import re

import pytest

from mhsa_book import models
from tests.notebooks.conftest import read
from tests.notebooks.test_style import markdown
from tools import ROOT

CHAPTER = ROOT / "notebooks" / "01_from_averages_to_attention.ipynb"


@pytest.fixture(scope="module")
def text():
    return markdown(read(CHAPTER))


def test_the_size_of_a_real_model_is_that_of_the_model(text):
    lm = models.load("SmolLM2-135M")
    (said,) = re.findall(r"^Our head makes queries of .*$", text, re.MULTILINE)
    numbers = [int(number) for number in re.findall(r"(?<![\w])\d+(?![\w`])", said)]
    sizes = [lm.d_model, lm.d_head, lm.n_heads, lm.n_layers, lm.n_layers * lm.n_heads]
    assert [n for n in numbers if n in sizes] == sizes


def test_the_sentences_are_credited_where_they_are_first_read(text):
    before = text.partition("## What you will be able to do")[0]
    assert "because it was too **tired**" in before
    assert "{cite}`uszkoreit2017transformer`" in before


def test_the_two_rules_that_were_wrong_are_gone(text):
    """The weights are not learned, and the table of words is."""
    assert "only the matrices are learned" not in text
    assert re.search(r"Training sets the table of words and the matrices", text)
