"""Attention on several devices, divided by heads (``parallelize``) or by tokens."""

from mhsa_lib.parallel.tensor_parallel import parallelize as parallelize
from mhsa_lib.parallel.ulysses import exchange_heads as exchange_heads
