"""Which kernel is the fastest for these sizes, on this machine: what was measured, as rules.

On a CPU ``F.scaled_dot_product_attention`` multiplies by the BLAS of torch, which is not always
the faster library (``onednn``), skips what lies ahead in coarse steps, and has a backward in
bfloat16 that is slower than plain products. The book's chapter on the fused module shows the
numbers; ``python -m mhsa_lib.bench`` measures them again.
"""

import torch

from mhsa_lib.fused import linear
from mhsa_lib.shapes import Keys, Queries
from mhsa_lib.trace.watched import plain


def reads_most(k: Keys) -> bool:
    """Whether one query reads so many bytes of keys that reading takes all the time.

    They come from memory then, at the latest when other layers were used in between, and come
    fastest as the left factor of a plain product.
    """
    many = k.numel() * k.element_size() >= 4 * 2**20
    return many and k.is_cpu


def is_short(dtype: torch.dtype, n_query: int, n_key: int) -> bool:
    """So few tokens that weights in bfloat16 are no larger than q, k, v and z together.

    For heads of 32 columns or more.
    """
    return dtype is torch.bfloat16 and 16 <= min(n_query, n_key) <= max(n_query, n_key) <= 128


def writes_out(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether few tokens are faster written out: the CPU kernel is slow in bfloat16."""
    if dropout or not is_short(q.dtype, q.shape[-2], k.shape[-2]):
        return False
    own_keys, long_enough = q.shape[-3] == k.shape[-3], trains(q) or q.shape[-2] >= 64
    return own_keys and long_enough and plain(q, k)


def in_tiles(q: Queries, k: Keys, dropout: float) -> bool:
    """Whether tiles are faster than the fused kernel, which multiplies by another library.

    In bfloat16 both are oneDNN, and tiles win by their softmax and their backward pass. That
    was seen where oneDNN is faster in float32 too; elsewhere the kernel is left alone.
    """
    few = min(q.shape[-2], k.shape[-2])
    if few < 64 or dropout:
        return False
    if q.dtype is not torch.bfloat16 and (
        q.dtype is not torch.float32 or few < 256 or trains(q)
    ):
        return False
    return plain(q, k) and linear.is_chosen()


def cuts_finely(q: Queries, dropout: float) -> bool:
    """The CPU kernel leaves out what lies ahead 512 keys at a time; blocks of 64 leave more.

    Never under dropout: what is computed again for a checkpoint, now with gradients, has to
    draw the same numbers in the same blocks.
    """
    return 256 <= q.shape[-2] <= 1024 and q.is_cpu and not (dropout or trains(q))


def trains(q: Queries) -> bool:
    """Whether gradients of q will be asked for."""
    return torch.is_grad_enabled() and q.requires_grad
