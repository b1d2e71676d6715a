"""Chapter 04: which tests of a split are let pass, and which are refused with a reason."""

import pytest
import torch

from mhsa_book.exercises import check


def own_numbers(rows):
    """A test that gives every number of a word the same value."""

    def test(split):
        heads = split(rows)
        return bool((heads == rows[:, None, :, :4]).all())

    return test


WORDS = torch.arange(7)[:, None].repeat(2, 1, 12)


def test_a_value_for_every_word_of_every_sentence_is_enough():
    values = torch.arange(14).view(2, 7, 1).repeat(1, 1, 12)
    assert check("keeps_words_apart", own_numbers(values))


def test_the_view_is_harmless_with_one_head_or_one_word():
    assert check("harmless_view", {"one word", "one head"})
    assert "another" in check("harmless_view", {"one head"}).text
    assert not check("harmless_view", {"one head", "one word", "one sentence"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda split: True, "It says True of q.view(2, 3, 7, 4)"),
        (lambda split: split(WORDS).shape == (2, 3, 7, 4), "True of q.view(2, 3, 7, 4)"),
        (lambda split: split(WORDS)[0, 0, 0, 1] == 1, "False of the split of the library"),
        (own_numbers(WORDS), "True of a split that exchanges the sentences"),
        (3, "takes a split"),
    ],
)
def test_a_test_that_misses_something_is_told_which_split_it_misjudges(answer, said):
    assert said in check("keeps_words_apart", answer).text
