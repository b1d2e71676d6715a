"""Attention by plain matrix products, where a CPU is faster with them than with SDPA."""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_plain_cpu_tensor
from mhsa_lib.fused.call import DROPOUT, Call, Kernel
from mhsa_lib.fused.cpu.blocks import is_trained
from mhsa_lib.fused.sdpa import heads_to_rows, one_query_unsupported_reason, rows_to_heads
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs

# --- one query and very many keys ------------------------------------------------------------

MOST_CACHED = 4 * 2**20
"""Bytes of keys beyond which they no longer lie in a processor's cache between two layers."""


def _keys_first_unsupported_reason(call: Call) -> str | None:
    if reason := one_query_unsupported_reason(call):
        return reason
    if call.k.numel() * call.k.element_size() < MOST_CACHED:
        return f"the keys take less than {MOST_CACHED // 2**20} MiB"
    return None if call.k.is_cpu else "not on a CPU"


def attend_keys_first(call: Call) -> HeadOutputs:
    """Compute z of one query, with the keys as the left factor of the product.

    A matrix that comes from memory is read faster as the left factor, row by row.

    >>> from mhsa_lib.fused.sdpa import attend_one_query
    >>> q, k = torch.randn(1, 4, 1, 8), torch.randn(1, 2, 9, 8)
    >>> call = Call.of(q, k, k, None, scale=0.5)
    >>> torch.allclose(attend_keys_first(call), attend_one_query(call), atol=1e-6)
    True
    """
    group = call.q.shape[-3] // call.k.shape[-3]
    rows = heads_to_rows(call.q, group)
    scores = (call.k @ (call.scale * rows).mT).mT
    z = torch.softmax(scores, dim=-1).to(call.v.dtype) @ call.v
    return rows_to_heads(z, group)


KEYS_FIRST = Kernel("keys first", _keys_first_unsupported_reason, attend_keys_first)


# --- few tokens in bfloat16 ------------------------------------------------------------------

FEWEST, MOST = 16, 128
"""Numbers of tokens between which weights in bfloat16 are written out.

The weights of 128 tokens are no more numbers than q, k, v and z of a head with 32 dimensions.
Beyond that, memory would grow with the square of the length.
"""

FEWEST_UNTRAINED = 64
"""The same without gradients: SDPA's forward pass alone is fast up to here."""


def are_few_in_bfloat16(dtype: torch.dtype, n_query: int, n_key: int) -> bool:
    """Say whether weights in bfloat16 are few enough to be written out."""
    few, many = min(n_query, n_key), max(n_query, n_key)
    return dtype is torch.bfloat16 and FEWEST <= few <= many <= MOST


def _explicit_unsupported_reason(call: Call) -> str | None:
    q, k = call.q, call.k
    if q.dtype is not torch.bfloat16:
        return "not bfloat16"
    if call.dropout:
        return DROPOUT
    if not are_few_in_bfloat16(q.dtype, call.n_query, call.n_key):
        return f"not {FEWEST} to {MOST} tokens"
    if q.shape[-3] != k.shape[-3]:
        return "heads share keys"
    if call.n_query < FEWEST_UNTRAINED and not is_trained(q):
        return f"fewer than {FEWEST_UNTRAINED} queries, without gradients"
    return None if is_plain_cpu_tensor(q, k) else "not plain numbers on a CPU"


def attend_by_explicit_weights(call: Call) -> HeadOutputs:
    """Compute z under any mask, with the weights written to memory.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend_by_explicit_weights(Call.of(q, k, v, None, scale=0.5))
    >>> torch.allclose(z, torch.softmax(q @ k.mT / 2, dim=-1) @ v, atol=1e-6)
    True
    """
    q, k, v, addend, fully_masked = call.q, call.k, call.v, None, None
    if call.band is None:
        allowed = masks.resolve(call.mask, (*q.shape[:-1], k.shape[-2]), q.device)
        addend, fully_masked = _additive(allowed, q.dtype)
    elif not call.sees_all:
        sizes = call.shift, call.n_query, call.n_key
        addend, fully_masked = _additive_band(call.band, *sizes, q.dtype)
    scores = (call.scale * q) @ k.mT
    if addend is not None:
        scores += addend  # a fraction of the time of filling
    z = torch.softmax(scores, dim=-1).to(v.dtype) @ v
    return z if fully_masked is None else z.masked_fill(fully_masked, 0.0)


EXPLICIT_WEIGHTS = Kernel(
    "explicit weights", _explicit_unsupported_reason, attend_by_explicit_weights
)


def _additive(allowed: Any, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """Return what is added to the scores, and which queries are fully masked, if any."""
    fully_masked = ~allowed.any(dim=-1, keepdim=True)
    if not fully_masked.any():
        return masks.to_additive(allowed, dtype), None
    return masks.to_additive(allowed | fully_masked, dtype), fully_masked


@lru_cache(maxsize=32)
def _additive_band(
    band: Band, shift: int, n_query: int, n_key: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    # Kept for later calls, which may have gradients and another default device.
    with torch.inference_mode(False):
        query = torch.arange(shift, shift + n_query, device="cpu")[:, None]
        key = torch.arange(n_key, device="cpu")
        return _additive(band.allows(query, key), dtype)
