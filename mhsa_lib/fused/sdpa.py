"""``F.scaled_dot_product_attention`` (SDPA), PyTorch's own kernel, and the masks it knows.

It never writes the weights of all tokens to memory. It knows "no mask", "causal" and "this
boolean tensor". A query that may attend to nothing attends to everything there, so such rows
are set to zero here.

Source: Dao et al., "FlashAttention", arXiv 2205.14135.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_lib import functional, masks
from mhsa_lib.fused.call import DROPOUT, NOT_A_BAND, Call, Kernel
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


def sdpa(q: Queries, k: Keys, v: Values, call: Call, **mask: Any) -> HeadOutputs:
    """Run SDPA with the scale and dropout of a call; q, k and v may be parts of its own."""
    grouped = bool(q.shape[-3] != k.shape[-3])  # a tensor under torch.jit.trace
    if grouped and q.is_cuda and ("attn_mask" in mask or not _takes_flash(q, v)):
        # Flash and math are the only backends on a GPU that take fewer KV heads, and math
        # writes all weights. Repeated heads cost memory linear in the length instead.
        k, v = (functional.share_heads(t, q.shape[-3]) for t in (k, v))
        grouped = False
    return F.scaled_dot_product_attention(
        q, k, v, **mask, scale=call.scale, dropout_p=call.dropout, enable_gqa=grouped
    )


# --- nothing to attend to --------------------------------------------------------------------


def _empty_unsupported_reason(call: Call) -> str | None:
    if call.band is None:
        return NOT_A_BAND
    return "there are queries and keys" if call.n_query and call.n_key else None


def attend_to_nothing(call: Call) -> HeadOutputs:
    """Return zeros for queries without any key, with gradients of zero for q, k and v."""
    # Sums over nothing are 0 and keep all three inputs in the graph of autograd.
    q, k, v = (t[..., :0].sum().to(call.v.dtype) for t in (call.q, call.k, call.v))
    return (q + k + v).expand(*call.q.shape[:-1], call.v.shape[-1])


EMPTY = Kernel("empty", _empty_unsupported_reason, attend_to_nothing)

# --- one query, as in decoding ---------------------------------------------------------------

MOST_CACHED = 4 * 2**20
"""Bytes of keys beyond which they no longer lie in a processor's cache between two layers."""


def _one_query_unsupported_reason(call: Call) -> str | None:
    if call.n_query != 1:
        return "not one query"
    if not call.sees_all:
        return "the query does not attend to every key"
    return DROPOUT if call.dropout else None


def attend_one_query(call: Call) -> HeadOutputs:
    """Compute z of a single query, with the heads of a group as the rows of one head.

    All the time of such a call goes into reading keys and values. Repeated heads would be read
    again for every query head; as rows, the heads of a group read them once.

    Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
    """
    q, k, v = call.q, call.k, call.v
    if _takes_flash(q, v):
        # It divides the keys of one query among all processors of a GPU, which rows do not.
        return sdpa(q, k, v, call)
    rows = q.unflatten(-3, (k.shape[-3], -1)).squeeze(-2)  # (…, kv_head, group, d_head)
    if k.is_cuda:  # the kernel of float32 has one processor read all keys of a head
        z = torch.softmax((call.scale * rows) @ k.mT, dim=-1) @ v
    elif k.is_cpu and k.nbytes >= MOST_CACHED:
        # A matrix that comes from memory is read faster as the left factor, row by row.
        scores = (k @ (call.scale * rows).mT).mT
        z = torch.softmax(scores, dim=-1).to(v.dtype) @ v
    else:
        z = sdpa(rows, k, v, call)
    return z.flatten(-3, -2).unsqueeze(-2)


def _takes_flash(q: Tensor, v: Tensor) -> bool:
    half = q.dtype in (torch.float16, torch.bfloat16)
    return q.is_cuda and half and q.shape[-1] == v.shape[-1] <= 256 and q.ndim == 4


ONE_QUERY = Kernel("one query", _one_query_unsupported_reason, attend_one_query)

# --- every query attends to every key, or to those before it ---------------------------------


def _plain_unsupported_reason(call: Call) -> str | None:
    if call.sees_all:
        return None
    if call.band is None:
        return NOT_A_BAND
    if call.band.ahead != 0 or call.band.behind is not None:
        return "the band is not the causal one"
    # SDPA counts queries and keys from the first, so a cache's later queries do not fit.
    return "not as many queries as keys" if call.shift != 0 else None


def attend_by_sdpa(call: Call) -> HeadOutputs:
    """Compute z without a mask or under a causal one, by a flag, without any tensor for it."""
    return sdpa(call.q, call.k, call.v, call, is_causal=not call.sees_all)


PLAIN = Kernel("SDPA", _plain_unsupported_reason, attend_by_sdpa)

# --- a boolean tensor ------------------------------------------------------------------------


def masked_sdpa(q: Queries, k: Keys, v: Values, mask: Any, call: Call) -> HeadOutputs:
    """Run SDPA under a mask written out as a boolean tensor."""
    allowed = masks.resolve(mask, (*q.shape[:-1], k.shape[-2]), q.device)
    assert isinstance(allowed, Tensor), "no mask is not a mask"
    fully_masked = ~allowed.any(dim=-1, keepdim=True)
    z = sdpa(q, k, v, call, attn_mask=allowed | fully_masked)
    return z.masked_fill(fully_masked, 0.0)


def _not_a_tensor_reason(call: Call) -> str | None:
    is_rule = isinstance(call.mask, masks.Predicate)
    return "the mask is a predicate, on a CPU" if is_rule and call.q.is_cpu else None


def attend_under_a_tensor(call: Call) -> HeadOutputs:
    """Compute z under a boolean tensor, or under a predicate written out as one."""
    return masked_sdpa(call.q, call.k, call.v, call.mask, call)


UNDER_A_TENSOR = Kernel("SDPA under a tensor", _not_a_tensor_reason, attend_under_a_tensor)
