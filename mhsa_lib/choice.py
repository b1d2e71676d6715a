"""Which kernel is the fastest for these sizes, on this machine: what was measured, as rules.

On a CPU ``F.scaled_dot_product_attention`` multiplies by the BLAS of torch, which is not always
the faster library (``onednn``), skips what lies ahead in coarse steps, and has a backward in
bfloat16 that is slower than plain products. The book's chapter on the fused module shows the
numbers; ``python -m mhsa_lib.bench`` measures them again.
"""

import torch

from mhsa_lib import onednn
from mhsa_lib.shapes import Keys, Queries


def reads_most(k: Keys) -> bool:
    """Whether one query reads so many bytes of keys that reading takes all the time.

    They come from memory then, at the latest when other layers were used in between, and come
    fastest as the left factor of a plain product.
    """
    many = k.numel() * k.element_size() >= 4 * 2**20
    return many and k.device.type == "cpu" and not torch.compiler.is_compiling()


def is_short(dtype: torch.dtype, n_query: int, n_key: int) -> bool:
    """So few tokens that weights in bfloat16 are no larger than q, k, v and z together.

    For heads of 32 columns or more.
    """
    return dtype is torch.bfloat16 and 16 <= min(n_query, n_key) <= max(n_query, n_key) <= 128


def writes_out(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether few tokens are faster written out: the CPU kernel is slow in bfloat16."""
    if dropout or not is_short(q.dtype, q.shape[-2], k.shape[-2]):
        return False
    plain = q.device.type == "cpu" and q.shape[-3] == k.shape[-3]
    long_enough = trains(q) or q.shape[-2] >= 64
    return plain and long_enough and not torch.compiler.is_compiling()


def in_tiles(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether tiles are faster than the fused kernel, which multiplies by another library.

    In bfloat16 both are oneDNN, and tiles win by their softmax and their backward pass. That
    was seen where oneDNN is faster in float32 too; elsewhere the kernel is left alone.
    """
    few = min(q.shape[-2], k.shape[-2])
    if few < 64 or dropout or q.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    if q.dtype is torch.bfloat16:
        return onednn.is_faster()
    return q.dtype is torch.float32 and few >= 256 and not trains(q) and onednn.is_faster()


def cuts_finely(q: Queries) -> bool:
    """The CPU kernel leaves out what lies ahead 512 keys at a time; blocks of 64 leave more."""
    few = 256 <= q.shape[-2] <= 1024
    return few and q.device.type == "cpu" and not (trains(q) or torch.compiler.is_compiling())


def trains(q: Queries) -> bool:
    """Whether gradients of q will be asked for."""
    return torch.is_grad_enabled() and q.requires_grad
