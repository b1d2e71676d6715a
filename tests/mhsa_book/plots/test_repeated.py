import matplotlib.pyplot as plt
import pytest
import torch

from mhsa_book.plots.repeated import repeated


def test_every_token_is_named_and_lines_mark_the_second_reading():
    words = ["a", "b", "c"] * 2
    repeated(torch.eye(6).expand(2, 6, 6), words, ["L0H0", "L0H1"])
    first, second = plt.gcf().axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == words
    for panel in (first, second):
        assert [label.get_text() for label in panel.get_xticklabels()] == words
        across, down = panel.lines
        assert list(across.get_ydata()) == list(down.get_xdata()) == [2.5, 2.5]
    plt.close("all")


@pytest.mark.parametrize("words", [["a", "b", "c"], ["a", "b", "b", "a"]])
def test_a_text_that_is_not_written_twice_is_refused(words):
    with pytest.raises(ValueError, match="not one text twice"):
        repeated(torch.eye(len(words))[None], words, ["L0H0"])
