"""A hundred English sentences with their grammar and what their pronouns mean, word by word."""

from mhsa_book.examples.annotated.conllu import RELATIONS as RELATIONS
from mhsa_book.examples.annotated.conllu import TAGS as TAGS
from mhsa_book.examples.annotated.conllu import Sentence as Sentence
from mhsa_book.examples.annotated.conllu import Word as Word
from mhsa_book.examples.annotated.conllu import read as read
from mhsa_book.examples.annotated.conllu import sentences as sentences
