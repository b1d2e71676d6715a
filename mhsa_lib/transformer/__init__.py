"""Layers around attention: an encoder reads a sentence, a decoder writes another.

``layers`` has the feed-forward part and both layers, ``model`` the whole, ``ids`` sentences as
numbers and the loss, ``decoding`` the two ways to write word by word.
"""

from mhsa_lib.transformer.decoding import Translation as Translation
from mhsa_lib.transformer.decoding import greedy as greedy
from mhsa_lib.transformer.decoding import recomputing as recomputing
from mhsa_lib.transformer.decoding import remembering as remembering
from mhsa_lib.transformer.ids import BOS as BOS
from mhsa_lib.transformer.ids import EOS as EOS
from mhsa_lib.transformer.ids import PAD as PAD
from mhsa_lib.transformer.ids import loss as loss
from mhsa_lib.transformer.ids import not_padding as not_padding
from mhsa_lib.transformer.ids import padded as padded
from mhsa_lib.transformer.ids import shifted as shifted
from mhsa_lib.transformer.layers import DecoderLayer as DecoderLayer
from mhsa_lib.transformer.layers import EncoderLayer as EncoderLayer
from mhsa_lib.transformer.layers import FeedForward as FeedForward
from mhsa_lib.transformer.model import EncoderDecoder as EncoderDecoder
from mhsa_lib.transformer.model import Memory as Memory
