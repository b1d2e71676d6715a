"""A real model in the page: type a sentence, and all its heads answer."""

from mhsa_book.widgets.own_sentence.own_sentence import OwnSentence as OwnSentence
