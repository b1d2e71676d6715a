"""Layers around attention: an encoder reads a sentence, a decoder writes another.

``layers`` has the feed-forward part and both layers, ``model`` the whole, ``ids`` sentences as
numbers and the loss, ``decoding`` the two ways to write word by word. ``decoder_only`` is a
language model as it is built today.
"""

from mhsa_book.transformer.decoder_only import DecoderOnly as DecoderOnly
from mhsa_book.transformer.decoder_only import RotaryLayer as RotaryLayer
from mhsa_book.transformer.decoder_only import SwiGLU as SwiGLU
from mhsa_book.transformer.decoding import Translation as Translation
from mhsa_book.transformer.decoding import greedy as greedy
from mhsa_book.transformer.decoding import recomputing as recomputing
from mhsa_book.transformer.decoding import remembering as remembering
from mhsa_book.transformer.ids import BOS as BOS
from mhsa_book.transformer.ids import EOS as EOS
from mhsa_book.transformer.ids import PAD as PAD
from mhsa_book.transformer.ids import loss as loss
from mhsa_book.transformer.ids import not_padding as not_padding
from mhsa_book.transformer.ids import padded as padded
from mhsa_book.transformer.ids import shifted as shifted
from mhsa_book.transformer.layers import DecoderLayer as DecoderLayer
from mhsa_book.transformer.layers import EncoderLayer as EncoderLayer
from mhsa_book.transformer.layers import FeedForward as FeedForward
from mhsa_book.transformer.model import EncoderDecoder as EncoderDecoder
from mhsa_book.transformer.model import Memory as Memory
