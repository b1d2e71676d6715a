"""Variants of multi-head attention: one file, one difference, the same five stages.

A module says what it changes, saves or costs, when it is plain, and where it comes from.
"""

from mhsa_lib.variants.collaborative import CollaborativeAttention as CollaborativeAttention
from mhsa_lib.variants.composed import ComposedAttention as ComposedAttention
from mhsa_lib.variants.grouped import GroupedQueryAttention as GroupedQueryAttention
from mhsa_lib.variants.grouped import MultiQueryAttention as MultiQueryAttention
from mhsa_lib.variants.latent import LatentAttention as LatentAttention
from mhsa_lib.variants.mixture import MixtureOfHeadAttention as MixtureOfHeadAttention
from mhsa_lib.variants.overlapped import OverlappedAttention as OverlappedAttention
