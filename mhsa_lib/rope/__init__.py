"""Rotary positions (RoPE): ``rotary`` rotates queries and keys, ``scaling`` slows it down."""

from mhsa_lib.rope.rotary import HALVES as HALVES
from mhsa_lib.rope.rotary import INTERLEAVED as INTERLEAVED
from mhsa_lib.rope.rotary import Pairing as Pairing
from mhsa_lib.rope.rotary import PartialRotary as PartialRotary
from mhsa_lib.rope.rotary import Rotary as Rotary
from mhsa_lib.rope.rotary import RotarySplit as RotarySplit
from mhsa_lib.rope.rotary import reordered as reordered
