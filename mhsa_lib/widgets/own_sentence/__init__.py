"""A real model in the page: type a sentence, and all its heads answer."""

from mhsa_lib.widgets.own_sentence.own_sentence import OwnSentence as OwnSentence
