"""PyTorch's own kernel, ``F.scaled_dot_product_attention`` (SDPA), and the masks it knows.

It never writes the weights of all tokens to memory. It knows "no mask", "causal" and "this
boolean tensor", and takes a query that sees nothing for one that sees everything.

Source: Dao et al., "FlashAttention", arXiv 2205.14135.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.compiler import is_compiling

from mhsa_lib import masks
from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


def attend_by_sdpa(call: Call) -> HeadOutputs:
    """Every query looks at every key."""
    return sdpa(call.q, call.k, call.v, call)


def attend_causally_by_sdpa(call: Call) -> HeadOutputs:
    """No query looks ahead: as many queries as keys, because SDPA counts both from the first.

    A flag and no tensor: an explicit causal mask took 1.06 of the time at 512 tokens and 1.75
    at 2,048 (float32, two cores of a Sapphire Rapids Xeon).
    """
    return sdpa(call.q, call.k, call.v, call, is_causal=True)


def attend_under_a_tensor(call: Call) -> HeadOutputs:
    """As a boolean tensor says, or a rule written out as one."""
    return under(call.q, call.k, call.v, call.mask, call)


def attend_at_any_length(call: Call) -> HeadOutputs:
    """What is recorded now is run with other lengths later: no decision may rest on them."""
    q, k, mask = call.q, call.k, call.mask
    causal = isinstance(mask, masks.Predicate) and mask.structure.is_band(ahead=0)
    if causal and _surely_equal(q.shape[-2], k.shape[-2]):
        return attend_causally_by_sdpa(call)
    return attend_by_sdpa(call) if mask is None else attend_under_a_tensor(call)


def sdpa(q: Queries, k: Keys, v: Values, call: Call, **mask: Any) -> HeadOutputs:
    """SDPA with the scale and the dropout of a call, whose q, k and v these may be parts of."""
    grouped = bool(q.shape[-3] != k.shape[-3])  # under torch.jit.trace a size is a tensor
    return F.scaled_dot_product_attention(
        q, k, v, **mask, scale=call.scale, dropout_p=call.dropout, enable_gqa=grouped
    )


def under(q: Queries, k: Keys, v: Values, mask: Any, call: Call) -> HeadOutputs:
    """SDPA under a mask as a tensor; a query that sees nothing gets zeros."""
    allowed = masks.resolve(mask, (*q.shape[:-1], k.shape[-2]), q.device)
    assert isinstance(allowed, Tensor), "no mask is not a mask"
    sees_nothing = ~allowed.any(dim=-1, keepdim=True)
    z = sdpa(q, k, v, call, attn_mask=allowed | sees_nothing)
    return z.masked_fill(sees_nothing, 0.0)


def _surely_equal(n: Any, m: Any) -> bool:
    if not is_compiling():  # torch.jit writes no condition down
        return False
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(n == m)
