"""Five stages and fused: both give the same words."""

import pytest

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention

BUILD = {"five stages": MultiHeadAttention, "fused": FusedMultiHeadAttention}
both = pytest.mark.parametrize("kind", BUILD)
