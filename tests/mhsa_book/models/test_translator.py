"""The stored translator: it translates, it is the file that was meant, every call is new."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.models.translator import WEIGHTS, translator
from mhsa_book.transformer import PAD, greedy, loss, recomputing, shifted

MODEL = translator()
PAIRS = language.pairs(200, seed=11)  # training draws from other seeds
SOURCE, TARGET = language.batch(PAIRS)


def test_all_its_translations_are_right_and_the_greeting_is_its_choice():
    said = [language.TARGET.words(ids) for ids in greedy(MODEL, SOURCE).ids]
    right = [
        words in [pair.target for pair in language.translations(" ".join(given.source))]
        for words, given in zip(said, PAIRS, strict=True)
    ]
    assert sum(right) >= 198


def test_only_the_greeting_costs_anything():
    given, wanted = shifted(TARGET)
    logits = MODEL(SOURCE, given)
    assert loss(logits[:, :1], wanted[:, :1]).item() == pytest.approx(language.CHOICE, abs=0.02)
    assert loss(logits[:, 1:], wanted[:, 1:]) < 0.005


def test_both_ways_to_write_give_the_same_words():
    one, other = greedy(MODEL, SOURCE[:32]), greedy(MODEL, SOURCE[:32], recomputing)
    assert torch.equal(one.ids, other.ids)
    assert_close(one.logits, other.logits, atol=1e-4, rtol=1e-4)


def test_it_is_in_evaluation_mode_in_float32_and_learns_nothing():
    assert not any(module.training for module in MODEL.modules())
    assert {p.dtype for p in MODEL.parameters()} == {torch.float32}
    assert not any(p.requires_grad for p in MODEL.parameters())
    assert (len(MODEL.encoder), len(MODEL.decoder)) == (2, 2)
    assert MODEL.decoder[0].cross_attention.n_heads == 4


def test_every_call_gives_a_new_model():
    other = translator()
    other.unembed.weight.zero_()
    assert MODEL.unembed.weight.any()
    assert translator().unembed.weight.any()


def test_the_file_is_small_enough_for_a_page():
    assert WEIGHTS.stat().st_size < 400_000


def test_its_words_are_those_of_the_languages():
    assert len(MODEL.embed_source.tokens.weight) == len(language.SOURCE)
    assert len(MODEL.unembed.weight) == len(language.TARGET)
    assert SOURCE.max() < len(language.SOURCE)
    assert PAD == 0


@pytest.mark.bothways
def test_another_file_and_none_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors is missing"):
        translator(tmp_path / "none.safetensors")
    data = bytearray(WEIGHTS.read_bytes())
    data[-1] ^= 1
    (tmp_path / "other.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match=r"has SHA-256 .*translator's file has .* damaged"):
        translator(tmp_path / "other.safetensors")
