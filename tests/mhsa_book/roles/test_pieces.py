"""From byte pairs to words; the later word looks back."""

import pytest
import torch

from mhsa_book.examples import annotated
from mhsa_book.roles.arcs import Arcs
from mhsa_book.roles.pieces import aligned_pairs, backwards, read_back


class Spells:
    """A language model that cuts every word into two tokens and attends evenly."""

    def tokens(self, text):
        found = []
        for i, word in enumerate(text.split(" ")):
            space = " " if i else ""
            found += [space + word[:1], *([word[1:]] if word[1:] else [])]
        return found

    def attend_each(self, texts):
        for text in texts:
            n = len(self.tokens(text))
            even = torch.ones(n, n).tril()
            yield self.tokens(text), (even / even.sum(dim=-1, keepdim=True))[None, None]


def test_every_token_belongs_to_the_word_whose_letters_it_has():
    belongs = aligned_pairs(["a", "yeti", "."], ["\n", "a", " y", "eti", "."], n_before=1)
    assert belongs.argmax(dim=0)[1:].tolist() == [0, 1, 1, 2]
    assert belongs[:, 0].sum() == 0


@pytest.mark.parametrize(
    "tokens", [["a", " yak"], ["a", " yet", "i."], ["a"], ["a", " yeti", ".", "!"], ["a", " "]]
)
def test_other_letters_are_refused(tokens):
    with pytest.raises(ValueError, match="annotate the words"):
        aligned_pairs(["a", "yeti", "."], tokens)


def test_what_stands_in_front_is_left_out_of_the_words():
    sentences = annotated.sentences()[:2]

    class Plain(Spells):
        def tokens(self, text):
            front, _, rest = text.rpartition("\n")
            return [*([front + "\n"] if front or "\n" in text else []), *self.cut(rest)]

        def cut(self, text):
            known = {s.text: s for s in sentences}
            if not text:
                return []
            words, found = known[text].words, []
            for word in words:
                found += [word.form[:1], *([word.form[1:]] if word.form[1:] else [])]
            return found

    readings = read_back(Plain(), sentences)
    for reading, sentence in zip(readings, sentences, strict=True):
        assert reading.by_word.shape == (1, 1, len(sentence.words), len(sentence.words))
        assert (reading.by_word.sum(dim=-1) < 1).all()  # the line break has a share
        assert reading.by_word.triu(1).max() == 0
    with pytest.raises(ValueError, match="before is empty"):
        read_back(Plain(), sentences, before="")


def test_the_later_word_looks_at_the_earlier_one():
    arcs = Arcs(*torch.tensor([[0, 0, 1], [1, 4, 2], [3, 2, 0], [5, 5, 3]]))
    turned = backwards(arcs)
    assert turned.word.tolist() == [3, 4, 2]
    assert turned.partner.tolist() == [1, 2, 0]
    assert torch.equal(turned.sentence, arcs.sentence)
