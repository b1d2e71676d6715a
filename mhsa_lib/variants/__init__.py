"""Variants of multi-head attention: one file, one difference, the same five stages.

Every module says in its docstring what it changes, what it saves or costs, at which setting it
is ``MultiHeadAttention``, and where it comes from.
"""

from mhsa_lib.variants.grouped import GroupedQueryAttention as GroupedQueryAttention
from mhsa_lib.variants.grouped import MultiQueryAttention as MultiQueryAttention
