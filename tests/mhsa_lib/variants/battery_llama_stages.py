"""Stages of Llama's relatives, and positions that turn in another way."""

import torch
from torch import nn

from mhsa_lib import MultiHeadAttention
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.rope.rotary import PartialRotary, Rotary, RotarySplit
from mhsa_lib.rope.scaling import YarnScaling
from mhsa_lib.variants import GroupedQueryAttention
from tests.mhsa_lib.variants.entry import Variant


def loaded(attention: MultiHeadAttention, **stages) -> MultiHeadAttention:
    bias = attention.W_O.bias is not None
    made = GroupedQueryAttention(12, 3, 3, bias=bias, **stages).double()
    made.load_state_dict(attention.state_dict(), strict=False)
    return made


def uncapped(attention: MultiHeadAttention) -> MultiHeadAttention:
    return loaded(attention, attend=CappedAttend(0.5, cap=None))


def unsunk(attention: MultiHeadAttention) -> MultiHeadAttention:
    made = loaded(attention, attend=SinkAttend(0.5, 3))
    with torch.no_grad():
        made.attend.sinks.fill_(float("-inf"))
    return made


def unnormed(attention: MultiHeadAttention) -> MultiHeadAttention:
    norms = {"q_norm": nn.Identity(), "k_norm": nn.Identity()}
    bias = attention.W_O.bias is not None
    return loaded(attention, project=NormedProject(12, 12, 12, bias=bias, **norms))


def unturned(attention: MultiHeadAttention) -> MultiHeadAttention:
    """Every pair stands still."""
    return loaded(attention, split=RotarySplit(3, Rotary(4, scaling=torch.zeros_like)))


def normed() -> GroupedQueryAttention:
    norms = {"q_norm": nn.RMSNorm(12), "k_norm": nn.RMSNorm(4)}
    return GroupedQueryAttention(12, 3, 1, project=NormedProject(12, 12, 4, **norms))


def turned(rotary: Rotary, **norms) -> GroupedQueryAttention:
    return GroupedQueryAttention(12, 3, 1, split=RotarySplit(3, rotary, 1, **norms))


VARIANTS = [
    Variant(
        "CappedAttend",
        lambda: GroupedQueryAttention(12, 3, 1, attend=CappedAttend(0.5, 2.0)),
        uncapped,
    ),
    Variant(
        "SinkAttend",
        lambda: GroupedQueryAttention(12, 3, 1, attend=SinkAttend(0.5, 3)),
        unsunk,
        distributes=False,
    ),
    Variant("NormedProject", normed, unnormed),
    Variant(
        "PartialRotary, YaRN, GemmaNorm",
        lambda: turned(
            PartialRotary(2, scaling=YarnScaling(4.0, length=64)),
            q_norm=GemmaNorm(4),
            k_norm=GemmaNorm(4),
        ),
        unturned,
        positional=True,
    ),
]
