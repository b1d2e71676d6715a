"""What may stand at each path of an attention: tables of classes, and who belongs to one."""

from typing import Any

from torch import nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttention, LatentProject, LatentSplit

Kind = type | str
Kinds = dict[str, tuple[Kind, ...]]
"""What may stand at each path of a module, "" for itself: classes, or their full names.

Where it is (), anything may stand: that part and those in it belong to the block around.
"""

ATTEND: Kinds = {
    "attend.scores": (Wire,),
    "attend.weights": (Wire,),
    "attend.dropout": (nn.Dropout,),
}

STANDARD: Kinds = {
    "": (MultiHeadAttention, GroupedQueryAttention),
    "project": (Project,),
    "project.W_Q": (nn.Linear,),
    "project.W_K": (nn.Linear,),
    "project.W_V": (nn.Linear,),
    "split": (Split, GroupedSplit),
    "attend": (Attend, GroupedAttend),
    **ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The five stages as they are, with heads of their own or in groups."""

UNSHARED: Kinds = STANDARD | {"": (MultiHeadAttention,), "split": (Split,), "attend": (Attend,)}
"""The same, every head with keys and values of its own."""

ROTARY: Kinds = {
    **STANDARD,
    "split": (Split, GroupedSplit, RotarySplit),
    "split.rotary": (Rotary,),
    "split.q_norm": (nn.Identity, nn.RMSNorm, nn.LayerNorm),
    "split.k_norm": (nn.Identity, nn.RMSNorm, nn.LayerNorm),
    "split.q_heads": (Wire,),
    "split.k_heads": (Wire,),
}
"""As ``STANDARD``, also with rotary positions."""

LATENT: Kinds = {
    "": (LatentAttention,),
    "project": (LatentProject,),
    "project.W_Q": (),
    "project.W_DKV": (),
    "project.norm": (),
    "project.rotary": (),
    "split": (LatentSplit,),
    "split.rotary": (),
    "split.W_UK": (nn.Linear,),
    "split.W_UV": (nn.Linear,),
    "attend": (Attend,),
    **ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The stages of latent attention, whatever makes queries and latents."""

SHOWN = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}
_SHORT = 4  # as many names as a message can hold


def is_kind(cls: type, kind: Kind) -> bool:
    """Whether a class is of a kind, or a subclass that only makes or shows itself otherwise."""
    for i, base in enumerate(cls.__mro__):
        if base is kind or f"{base.__module__}.{base.__qualname__}" == kind:
            return cls.__mro__[i:] == base.__mro__  # nothing beside it comes after it
        if any(not (n in SHOWN or _only_says(n, v)) for n, v in vars(base).items()):
            return False
    return False


def _only_says(name: str, value: Any) -> bool:
    """An entry of a class that says something and does nothing."""
    return name.startswith("__") and not callable(value)


def names(kinds: tuple[Kind, ...]) -> str:
    """A few classes in words: A or B or 3 more."""
    shown = [short(kind) for kind in kinds]
    if len(shown) > _SHORT:
        shown = [*shown[:2], f"{len(shown) - 2} more"]
    return " or ".join(shown)


def short(kind: Kind) -> str:
    """The name of a class without its module."""
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def named(thing: Any) -> str:
    """The name of a class or a function, else that of its class."""
    return getattr(thing, "__qualname__", type(thing).__name__)
