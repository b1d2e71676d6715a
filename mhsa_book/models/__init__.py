"""Models with trained weights, offline: MiniLM, and two small enough to be read.

``minilm`` is the real model, ``repeater`` the smallest, ``repetition`` what that has learned;
``translator`` has an encoder and a decoder.
"""

from mhsa_book.models.layer import Layer as Layer
from mhsa_book.models.loading import load as load
from mhsa_book.models.minilm import PretrainedModel as PretrainedModel
from mhsa_book.models.minilm import untrained as untrained
from mhsa_book.models.minilm import verify as verify
