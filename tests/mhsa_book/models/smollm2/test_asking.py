"""Tokens, the next word, weights and new text: what is given, and what is refused."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.models import language_model
from mhsa_lib import edit, trace

GIFT = "When Mary and John went to the store, John gave a drink to"


def test_she_gets_the_drink(lm):
    (first, p), *others = lm.next(GIFT)
    assert first == " Mary"
    assert p == pytest.approx(0.92, abs=0.005)
    assert len(others) == 4
    probabilities = [p, *(each for _, each in others)]
    assert probabilities == sorted(probabilities, reverse=True)


def test_all_next_tokens_together_have_probability_one(lm):
    everything = lm.next("The", k=49_152)
    assert sum(p for _, p in everything) == pytest.approx(1.0, abs=1e-4)
    assert len({token for token, _ in everything}) == 49_152


def test_joined_tokens_are_the_text(lm):
    assert lm.tokens(GIFT)[:3] == ["When", " Mary", " and"]
    for text in (GIFT, "a\n\n  b\t", "naïve café", "<|im_start|>user", ""):
        assert "".join(lm.tokens(text)) == text


def test_bytes_that_are_no_character_are_written_out(lm):
    tokens = lm.tokens("\U0001f9ff")
    assert len(tokens) > 1
    assert "".join(tokens).replace("<0x", "").replace(">", "") == "F09FA7BF"


def test_every_token_is_found_by_its_spelling(lm):
    assert [lm.id(token) for token in lm.vocabulary()] == [*range(49_152)]


def test_what_is_no_token_is_refused_with_what_it_is_read_as(lm):
    words = r"' Dursley' is no token of .*, which reads \[' D', 'urs', 'ley'\]; pass one token"
    with pytest.raises(ValueError, match=words):
        lm.id(" Dursley")


def test_attend_gives_distributions_over_earlier_tokens(lm):
    tokens, weights = lm.attend(GIFT)
    assert tokens == lm.tokens(GIFT)
    assert weights.shape == (30, 9, 14, 14)
    assert_close(weights.sum(dim=-1), torch.ones(30, 9, 14), atol=1e-5, rtol=0)
    assert (weights.triu(1) == 0).all()


def test_the_head_that_looks_at_mary(lm):
    tokens, weights = lm.attend(GIFT)
    assert weights[24, 4, -1, tokens.index(" Mary")].item() == pytest.approx(0.81, abs=0.005)


def test_the_fast_pass_and_the_five_stages_are_one_model(lm):
    fast = lm.logits(GIFT)
    with torch.no_grad():
        stages = lm._runner.decoder(torch.tensor([lm.ids(GIFT)]))[0]
    assert_close(fast, stages, atol=1e-4, rtol=0)


def test_what_is_watched_and_changed_in_a_layer_is_the_model(lm):
    before = lm.next(GIFT)
    with trace(lm.attention(3)) as wires, edit(lm.attention(20), "z", torch.zeros_like):
        changed = lm.next(GIFT)
    _, weights = lm.attend(GIFT)
    assert_close(wires["weights"][0], weights[3], atol=1e-5, rtol=0)
    assert changed != before
    assert lm.next(GIFT) == before


def test_a_watched_layer_writes_the_same_text(lm):
    text = lm.generate(GIFT, 8)
    with edit(lm.attention(11), "z", lambda z: z + 0):
        assert lm.generate(GIFT, 8) == lm.generate(GIFT, 8, cache=False) == text


def test_writing_ends_where_the_model_ends_the_text(lm):
    asked = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\n"
    assert len(lm.ids(lm.generate(asked, 60))) < 60


ASK = ["logits", "next", "attend"]


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize("ask", ["tokens", *ASK])
def test_a_text_is_one_string(ask, lm):
    with pytest.raises(TypeError, match="text is a list; pass one string"):
        getattr(lm, ask)(["The", " cat"])


@pytest.mark.parametrize("ask", ["tokens", *ASK])
def test_half_a_character_is_refused(ask, lm):
    with pytest.raises(ValueError, match=r"text holds half of a character, U\+D83D at 2"):
        getattr(lm, ask)("a \ud83d")


@pytest.mark.parametrize("ask", ASK)
def test_a_text_without_tokens_is_refused(ask, lm):
    with pytest.raises(ValueError, match="text '' has no tokens; write at least one letter"):
        getattr(lm, ask)("")


def test_a_text_has_at_most_8192_tokens(lm):
    words = "text has 8193 tokens, SmolLM2-135M reads at most 8192; shorten it"
    with pytest.raises(ValueError, match=words):
        lm.next("a" + " a" * 8_192)
    with pytest.raises(ValueError, match="text has 8192 tokens and 1 new ones, SmolLM2"):
        lm.generate("a" + " a" * 8_191, 1)


@pytest.mark.parametrize("k", [0, -1, 49_153])
def test_there_are_1_to_49152_next_tokens(k, lm):
    with pytest.raises(ValueError, match=rf"k={k} tokens; there are 1 to 49152"):
        lm.next("The", k=k)


@pytest.mark.parametrize("n", [0, -3])
def test_at_least_one_token_is_written(n, lm):
    with pytest.raises(ValueError, match=rf"n={n} tokens; write at least 1"):
        lm.generate("The", n)


@pytest.mark.parametrize("layer", [-1, 30])
def test_a_layer_that_does_not_exist(layer, lm):
    with pytest.raises(ValueError, match=rf"layer={layer} does not exist; .* has 0 to 29"):
        lm.attention(layer)


@pytest.mark.parametrize(("ask", "needs"), [("attend", "weights"), ("logits", "logits")])
def test_what_does_not_fit_is_refused_before_it_is_made(ask, needs, lm, monkeypatch):
    monkeypatch.setattr(language_model, "available_bytes", lambda: 300_000_000)
    gigabytes = {"weights": 2.2, "logits": 0.4}[needs]
    words = rf"the {needs} for 1,001 tokens need {gigabytes} GB, and 0\.3 GB are available"
    with pytest.raises(MemoryError, match=words):
        getattr(lm, ask)("a" + " a" * 1_000)
