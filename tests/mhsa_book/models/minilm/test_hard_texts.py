"""Texts that are empty, too long, several, or broken."""

import pytest


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_tokens_is_refused(model, text):
    for ask in (model.attend, model.vectors):
        with pytest.raises(ValueError, match="has no tokens; write at least one word"):
            ask(text)


def test_512_tokens_are_read_and_513_refused(model):
    assert len(model.attend("cat " * 510)[0]) == 512
    words = r"text has 513 tokens with \[CLS\] and \[SEP\], .* reads at most 512; shorten it"
    with pytest.raises(ValueError, match=words):
        model.attend("cat " * 511)


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_a_text_is_one_string(model):
    with pytest.raises(TypeError, match="text is a list; pass one string"):
        model.attend(["The cat", "sat"])


def test_half_a_character_is_refused(model):
    for call in (model.attend, model.vectors):
        with pytest.raises(ValueError, match=r"text holds half of a character, U\+D83D at 6"):
            call("a cat \ud83d")
    assert model.attend("a cat \U0001f600")[0][0] == "[CLS]"
