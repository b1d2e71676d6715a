"""Attentions that kv_cache: plain, with grouped heads, and with rotary positions."""

import pytest

from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled, mha


def randomized(attention):
    return filled(attention).double().eval()


def grouped(**options):
    return randomized(GroupedQueryAttention(12, 6, 2, **options))


def rotary():
    return grouped(split=RotarySplit(6, Rotary(2, base=10.0), 2))


BUILD = {"plain": lambda: mha(bias=True), "grouped": grouped, "rotary": rotary}
each = pytest.mark.parametrize("attention", BUILD, indirect=True)


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())
