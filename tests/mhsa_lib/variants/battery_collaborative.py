"""Shared queries and keys, mixed by every head; as wide as all heads, and half of it."""

from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_lib.variants import CollaborativeAttention
from tests.mhsa_lib.variants.entry import Variant

VARIANTS = [
    Variant(
        "CollaborativeAttention",
        lambda: CollaborativeAttention(12, 3, 6, bias=True),
        to_collaborative,
    ),
    Variant(
        "CollaborativeAttention, a width that heads do not divide",
        lambda: CollaborativeAttention(12, 3, 7),
        to_collaborative,
    ),
]
