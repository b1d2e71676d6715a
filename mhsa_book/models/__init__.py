"""Models with trained weights, offline: MiniLM, SmolLM2, and two small enough to be read.

``minilm`` is a real encoder and ``smollm2`` a real language model, which ``language_model``
asks, watches and takes apart. ``repeater`` is the smallest, ``repetition`` what that has
learned; ``translator`` has an encoder and a decoder.
"""

from mhsa_book.models.language_model import LanguageModel as LanguageModel
from mhsa_book.models.layer import Layer as Layer
from mhsa_book.models.letters import Letters as Letters
from mhsa_book.models.loading import load as load
from mhsa_book.models.minilm import PretrainedModel as PretrainedModel
from mhsa_book.models.minilm import untrained as untrained
from mhsa_book.models.minilm import verify as verify
from mhsa_book.models.next_words import next_words as next_words
from mhsa_book.models.under_mask import under_mask as under_mask
