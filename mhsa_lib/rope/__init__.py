"""Rotary positions (RoPE): queries and keys turned by position, at plain or stretched rates.

``rotary_split`` is the stage, ``rotary`` what turns a head, ``pairing`` which columns turn
together, ``stretches`` the rates for texts longer than those of training.
"""

from mhsa_lib.rope.pairing import HALVES as HALVES
from mhsa_lib.rope.pairing import INTERLEAVED as INTERLEAVED
from mhsa_lib.rope.pairing import Pairing as Pairing
from mhsa_lib.rope.pairing import reordered as reordered
from mhsa_lib.rope.rotary import PartialRotary as PartialRotary
from mhsa_lib.rope.rotary import Rotary as Rotary
from mhsa_lib.rope.rotary_split import RotarySplit as RotarySplit
