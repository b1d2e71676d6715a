"""Attention on several devices: what a rank holds, and what all ranks say to each other.

``one_rank`` cuts out the heads of a rank, ``tensor_parallel`` leaves them there and adds up;
``ulysses`` leaves every rank a block of tokens and exchanges heads. Both work in the ranks of
a ``process_group``.
"""

from mhsa_lib.parallel.tensor_parallel import parallelize as parallelize
from mhsa_lib.parallel.ulysses import exchange_heads as exchange_heads
