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

from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import HeadOutputs

PASSED = {
    *("query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"),
    *("scale", "window_size", "enable_gqa"),
}
"""What torch's function has to take. It came before some of its arguments did."""


def attend_by_varlen(call: Call) -> HeadOutputs:
    """z of (head, token, d_head), the tokens of all sequences one after the other."""
    one_kernel, lengths, band = kernel(), call.lengths, call.mask.structure.band
    assert one_kernel is not None, "conditions.against_varlen was not asked"
    assert lengths is not None, "sequences do not lie end to end"
    ends = running(lengths, call.q.device)
    before, after = (-1 if limit is None else limit for limit in (band.behind, band.ahead))
    Q, K, V = (t.transpose(0, 1) for t in (call.q, call.k, call.v))
    z = one_kernel(
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


@lru_cache(maxsize=1)
def kernel() -> Callable[..., Any] | None:
    """torch's function, if the installed torch has one that takes all that is passed."""
    if find_spec("torch.nn.attention.varlen") is None:
        return None
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn if set(inspect.signature(varlen_attn).parameters) >= PASSED else None


def running(lengths: tuple[int, ...], device: torch.device) -> Tensor:
    """Where each sequence begins, and the end of the last.

    >>> running((2, 3), torch.device("cpu"))
    tensor([0, 2, 5], dtype=torch.int32)
    """
    sums = itertools.accumulate(lengths, initial=0)
    return torch.tensor(list(sums), dtype=torch.int32, device=device)
