"""Which kernel is the fastest for these sizes, on this machine: what was measured, as rules.

On a CPU ``F.scaled_dot_product_attention`` multiplies by the BLAS of torch, which is not always
the faster library (``onednn``), skips what lies ahead in coarse steps, and has a backward in
bfloat16 that is slower than plain products. The book's chapter on the fused module shows the
numbers; ``python -m mhsa_lib.bench`` measures them again.
"""

import torch

from mhsa_lib import onednn
from mhsa_lib.shapes import Keys, Queries


def reads_most(q: Queries, k: Keys, dropout: float) -> bool:
    """One query and many keys: written out, its weights are few, and keys are read faster."""
    one = q.shape[-2] == 1 and q.device.type == "cpu" and not dropout
    return one and k.shape[-2] >= 2048 and not torch.compiler.is_compiling()


def is_short(dtype: torch.dtype, n_query: int, n_key: int) -> bool:
    """So few tokens that weights in bfloat16 are no larger than q, k, v and z together."""
    return dtype is torch.bfloat16 and 16 <= min(n_query, n_key) <= max(n_query, n_key) <= 128


def writes_out(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether short ones are faster written out: the CPU kernel is slow in bfloat16."""
    plain = q.device.type == "cpu" and not dropout and q.shape[-3] == k.shape[-3]
    long_enough = trains(q) or q.shape[-2] >= 64
    return plain and long_enough and not torch.compiler.is_compiling()


def in_tiles(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether tiles are faster than the fused kernel, which multiplies by another library."""
    if q.device.type != "cpu" or torch.compiler.is_compiling() or dropout:
        return False
    n_query, n_key = q.shape[-2], k.shape[-2]
    if q.dtype is torch.bfloat16:
        return n_query >= 64 and n_key >= 64 and onednn.is_faster()
    few = n_query < 256 or n_key < 256
    return q.dtype is torch.float32 and not few and not trains(q) and onednn.is_faster()


def cuts_finely(q: Queries) -> bool:
    """The CPU kernel leaves out what lies ahead 512 keys at a time; blocks of 64 leave more."""
    return q.device.type == "cpu" and not trains(q) and 256 <= q.shape[-2] <= 1024


def trains(q: Queries) -> bool:
    """Whether gradients of q will be asked for."""
    return torch.is_grad_enabled() and q.requires_grad
