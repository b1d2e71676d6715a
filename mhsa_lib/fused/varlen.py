"""Sequences of different lengths in one call on a GPU, by ``torch.nn.attention.varlen``.

Source: Dao et al., "FlashAttention", arXiv 2205.14135; the lengths travel as running sums.
"""

import inspect
import itertools
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.fused.call import DROPOUT, Call, Kernel
from mhsa_lib.fused.cpu import concatenated_unsupported_reason
from mhsa_lib.shapes import HeadOutputs

NEEDED = {
    *("query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"),
    *("scale", "window_size", "enable_gqa"),
}
"""The arguments that are passed; torch's function came before some of them did."""


def _varlen_unsupported_reason(call: Call) -> str | None:
    if reason := concatenated_unsupported_reason(call):
        return reason
    if call.q.device.type != "cuda":
        return "not on CUDA"
    if call.q.dtype not in (torch.float16, torch.bfloat16):
        return "numbers of more than 16 bits"
    if call.dropout:
        return DROPOUT
    if call.mask.structure.band.ahead not in (None, 0):
        return "queries attend to some future keys, but not to all"
    return None if torch_kernel() is not None else "this torch has no kernel for it"


def attend_by_varlen(call: Call) -> HeadOutputs:
    """Compute z of (head, token, d_head), in which the sequences follow one another."""
    kernel, lengths, band = torch_kernel(), call.lengths, call.mask.structure.band
    assert kernel is not None, "a call is not for varlen where torch has no kernel"
    assert lengths is not None, "a call is not for varlen without lengths"
    ends = running_sums(lengths, call.q.device)
    before, after = (-1 if limit is None else limit for limit in (band.behind, band.ahead))
    Q, K, V = (t.transpose(0, 1) for t in (call.q, call.k, call.v))
    z = kernel(
        query=Q,
        key=K,
        value=V,
        cu_seq_q=ends,
        cu_seq_k=ends,
        max_q=max(lengths),
        max_k=max(lengths),
        scale=call.scale,
        window_size=(before, after),
        enable_gqa=call.q.shape[0] != call.k.shape[0],
    )
    assert isinstance(z, Tensor)
    return z.transpose(0, 1)


VARLEN = Kernel("varlen", _varlen_unsupported_reason, attend_by_varlen)


@lru_cache(maxsize=1)
def torch_kernel() -> Callable[..., Any] | None:
    """Return torch's function, if the installed torch has one that takes all we pass."""
    if find_spec("torch.nn.attention.varlen") is None:
        return None
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn if set(inspect.signature(varlen_attn).parameters) >= NEEDED else None


def running_sums(lengths: tuple[int, ...], device: torch.device) -> Tensor:
    """Return where each sequence begins, and the end of the last.

    >>> running_sums((2, 3), torch.device("cpu"))
    tensor([0, 2, 5], dtype=torch.int32)
    """
    sums = itertools.accumulate(lengths, initial=0)
    return torch.tensor(list(sums), dtype=torch.int32, device=device)
