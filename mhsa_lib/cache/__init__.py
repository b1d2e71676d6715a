"""Decode token by token: a cache that grows, and static ones whose memory may be a ring.

``remembering`` fills the ``growing`` cache of the five stages from outside, and
``position_table`` is its index; ``fixed`` keeps what cross-attention makes of its context.
``static`` has the caches of the fused modules, with the index in ``ring``. What both know about
positions and padding is in ``positions``.
"""

from mhsa_lib.cache.fixed import remember_context as remember_context
from mhsa_lib.cache.growing import Cache as Cache
from mhsa_lib.cache.positions import left_padded as left_padded
from mhsa_lib.cache.positions import right_padded as right_padded
from mhsa_lib.cache.remembering import remember as remember
