"""The sentences and the attentions that the book computes with, by hand and by name.

``language`` has sentences without end, for a model that learns to translate.
``annotated`` has a hundred in English with their grammar, for models that have learned it.
"""

from mhsa_book.examples.giving import giving_sentences as giving_sentences
from mhsa_book.examples.printing import say as say
from mhsa_book.examples.printing import show_rows as show_rows
from mhsa_book.examples.random_numbers import SIX_WORDS as SIX_WORDS
from mhsa_book.examples.random_numbers import random_attention as random_attention
from mhsa_book.examples.random_numbers import random_heads as random_heads
from mhsa_book.examples.random_numbers import random_tokens as random_tokens
from mhsa_book.examples.running_example import HEADS as HEADS
from mhsa_book.examples.running_example import attention as attention
from mhsa_book.examples.running_example import concat_names as concat_names
from mhsa_book.examples.running_example import head_matrices as head_matrices
from mhsa_book.examples.running_example import running as running
from mhsa_book.examples.seats import SEATED_COLUMNS as SEATED_COLUMNS
from mhsa_book.examples.seats import seated as seated
from mhsa_book.examples.texts import TEXTS as TEXTS
from mhsa_book.examples.two_tokens import worked as worked
from mhsa_book.examples.words import COLUMNS as COLUMNS
from mhsa_book.examples.words import SENTENCES as SENTENCES
from mhsa_book.examples.words import VOCABULARY as VOCABULARY
from mhsa_book.examples.words import embed as embed
from mhsa_book.examples.words import meanings as meanings
from mhsa_book.examples.words import positions as positions
from mhsa_book.examples.words import sentences as sentences
