"""Sequences of different lengths in one call on a GPU, by ``torch.nn.attention.varlen``.

Source: Dao et al., "FlashAttention", arXiv 2205.14135; the lengths travel as running sums.
"""

import itertools
from importlib.util import find_spec

import torch
from torch import Tensor

from mhsa_lib.reach import Band
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


def serves(q: Queries, band: Band, dropout: float) -> bool:
    """Whether there is such a kernel for this: CUDA, half precision, no dropout, torch 2.10."""
    return (
        q.device.type == "cuda"
        and q.dtype in (torch.float16, torch.bfloat16)
        and not dropout
        and band.ahead in (None, 0)
        and find_spec("torch.nn.attention.varlen") is not None
    )


def attend(
    q: Queries, k: Keys, v: Values, lengths: tuple[int, ...], band: Band, scale: float
) -> HeadOutputs:
    """z of (head, token, d_head), the tokens of all sequences one after the other."""
    from torch.nn.attention.varlen import varlen_attn

    ends = running(lengths, q.device)
    before, after = (-1 if limit is None else limit for limit in (band.behind, band.ahead))
    Q, K, V = (t.transpose(0, 1) for t in (q, k, v))
    z = varlen_attn(
        Q,
        K,
        V,
        cu_seq_q=ends,
        cu_seq_k=ends,
        max_q=max(lengths),
        max_k=max(lengths),
        scale=scale,
        window_size=(before, after),
        enable_gqa=q.shape[0] != k.shape[0],
    )
    assert isinstance(z, Tensor)
    return z.transpose(0, 1)


def running(lengths: tuple[int, ...], device: torch.device) -> Tensor:
    """Where each sequence begins, and the end of the last.

    >>> running((2, 3), torch.device("cpu"))
    tensor([0, 2, 5], dtype=torch.int32)
    """
    sums = itertools.accumulate(lengths, initial=0)
    return torch.tensor(list(sums), dtype=torch.int32, device=device)
