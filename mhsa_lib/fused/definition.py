"""The definition, for what kernels do not carry: batches of ``vmap``, tangents, all orders.

Source: Vaswani et al., "Attention Is All You Need", section 3.2.1, arXiv 1706.03762.
"""

import torch.nn.functional as F

from mhsa_lib import functional, masks
from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import HeadOutputs


def attend_by_definition(call: Call) -> HeadOutputs:
    """Plain products have derivatives of any order; all weights are written.

    >>> import torch
    >>> q = torch.randn(2, 5, 4)
    >>> call = Call.of(q, q, q, None, scale=0.5)
    >>> z = F.scaled_dot_product_attention(q, q, q, scale=0.5)
    >>> torch.allclose(attend_by_definition(call), z, atol=1e-6)
    True
    """
    q = call.q
    k, v = (functional.share_heads(t, q.shape[-3]) for t in (call.k, call.v))
    scores = functional.score(q, k, call.scale)
    weights = functional.softmax(scores, masks.resolve(call.mask, scores.shape, q.device))
    return functional.mix(F.dropout(weights, call.dropout), v)
