"""Models with trained weights, offline: MiniLM, and a repeater small enough to be read.

``minilm`` is the real model, ``repeater`` the small one, ``repetition`` what that has learned.
"""

from mhsa_lib.pretrained.minilm import PretrainedModel as PretrainedModel
from mhsa_lib.pretrained.minilm import load as load
from mhsa_lib.pretrained.minilm import verify as verify
