"""A text that a reader types is attended again where there is a kernel."""

import torch

from mhsa_book.widgets import HeadExplorer


class Model:
    """Two heads that look at the own token, two at the next; refuses a text without words."""

    def attend(self, text):
        tokens = text.split()
        if not tokens:
            raise ValueError(f"text {text!r} has no tokens; write a word.")
        eye = torch.eye(len(tokens))
        return tokens, torch.stack([eye, eye.roll(1, 1)]).expand(2, 2, *eye.shape)


def test_a_text_is_attended_again_and_a_bad_one_keeps_the_last():
    figure = HeadExplorer.of(Model(), "I saw a cat", layer=1, head=1, query=3, key=3)
    assert figure.attention["tokens"] == ["I", "saw", "a", "cat"]
    figure.text = "you did"
    assert figure.attention["keys"] == ["you", "did"]
    assert figure.shape == (2, 2, 2, 2)
    assert (figure.query, figure.key) == (1, 1)
    figure.text = " "
    assert figure.problem == "text ' ' has no tokens; write a word."
    assert figure.attention["tokens"] == ["you", "did"]
    figure.text = "again"
    assert (figure.problem, figure.attention["tokens"]) == ("", ["again"])


def test_a_static_page_has_no_text_to_type():
    figure = HeadExplorer.of(Model(), "I saw")
    assert figure.state()["text"] is None
    assert HeadExplorer.of(Model(), "I saw").text == "I saw"
