"""A conversion, and how its refusal is looked at."""

import re

import pytest

from mhsa_lib import FusedMultiHeadAttention

fuse = FusedMultiHeadAttention.from_attention


def refuses(call, words, error=ValueError):
    with pytest.raises(error, match=re.escape(words)):
        call()
