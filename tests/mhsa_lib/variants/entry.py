"""One entry of the battery: an attention, and how it becomes plain attention.

``registry`` collects the entries of all variants.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from mhsa_lib import MultiHeadAttention


@dataclass
class Variant:
    """A name, how to build it at 12 columns and 3 heads, and how it becomes plain attention.

    ``is_mha`` is given the attention with the weights to reproduce, in float64, and returns the
    variant at the setting at which it is ``MultiHeadAttention``. ``positional`` says that it
    knows positions, so that permuted tokens do not give permuted outputs. ``distributes`` says
    that every row of weights sums to 1.
    """

    name: str
    build: Callable[[], nn.Module]
    is_mha: Callable[[MultiHeadAttention], nn.Module]
    positional: bool = False
    distributes: bool = True
