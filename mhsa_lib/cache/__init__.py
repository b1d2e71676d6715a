"""Decode token by token: keys and values kept in memory that grows, is static, or is a ring."""

from mhsa_lib.cache.growing import Cache as Cache
from mhsa_lib.cache.growing import remember as remember
