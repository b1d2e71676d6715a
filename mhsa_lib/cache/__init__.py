"""Decode token by token: keep what later tokens need instead of computing it again.

``KVCache`` is the memory: it grows, is allocated once, or is a ring. The fused modules take it
as ``cache=``; ``kv_cache`` fills one from the five stages while a block runs.
"""

from mhsa_lib.cache.driving import kv_cache as kv_cache
from mhsa_lib.cache.memory import KVCache as KVCache
