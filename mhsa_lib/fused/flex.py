"""Masks that are rules, on a GPU: FlexAttention compiles the rule into the kernel.

A block mask says which blocks of 128 × 128 pairs hold anything; the others are skipped, and no
(query × key) tensor of numbers exists. It is made once for all equal rules of a size, and anew
in every call for a custom rule, which may read a tensor that has changed.

Compiling takes seconds. Few queries, as in decoding, are left to a boolean tensor, and a new
number of keys compiles nothing: from the second on, torch takes sizes as variables.

Source: Dong et al., "Flex Attention", arXiv 2412.05496.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks, masks
from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import HeadOutputs

FEWEST = 128
"""Fewer queries than fill one block of 128 × 128 are not worth compiling for: not measured."""

TAKES_ANY_SIZE = torch.__version__ >= "2.7"
"""Before, FlexAttention with sizes as variables failed (pytorch/pytorch#139064, #146745)."""


NARROWEST = 16
"""Columns of a head that the compiled kernel needs at least."""


def attend_by_flex(call: Call) -> HeadOutputs:
    """z under a predicate; a query that sees nothing gets zeros."""
    q, k, mask = call.q, call.k, call.mask
    made = _kept if mask.fixed else _blocks
    with torch.inference_mode(False):  # a later call may need gradients, and find them kept
        blocks = made(mask, len(q), q.shape[-3], q.shape[-2], k.shape[-2], q.device)
    kernel, grouped = _kernel(q.device.type), q.shape[-3] != k.shape[-3]
    return kernel(q, k, call.v, block_mask=blocks, scale=call.scale, enable_gqa=grouped)


def _blocks(
    mask: masks.Predicate,
    batch: int,
    n_heads: int,
    n_query: int,
    n_key: int,
    device: torch.device,
) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    mask = mask.to(device)
    # A tensor, because a number would be a constant of the compiled kernel.
    shift = torch.tensor(n_key - n_query, device=device)
    # The first and the last position: what a rule refuses it refuses here, not in the kernel.
    position = torch.tensor([0, max(n_key - 1, 0)], device=device)
    probe = mask.allows(position[:, None], position)[..., :1, :1]
    asked = probe.expand(*probe.shape[:-2], n_query, n_key)
    checks.mask_fits(asked, (batch, n_heads, n_query, n_key))
    by_batch, by_head = ((1,) * 4 + tuple(probe.shape))[-4:-2]
    return create_block_mask(
        lambda b, h, query, key: _of_one_head(mask.allows(query + shift, key), b, h),
        batch if by_batch > 1 else None,
        n_heads if by_head > 1 else None,
        n_query,
        n_key,
        device=device,
    )


_kept = lru_cache(maxsize=32)(_blocks)


def _of_one_head(allowed: Tensor, b: Tensor, h: Tensor) -> Tensor:
    """The answer for one pair, where a rule that knows batches or heads answers for all."""
    if allowed.ndim == 0:
        return allowed
    by_batch, by_head = ((1,) * 4 + tuple(allowed.shape))[-4:-2]
    allowed = allowed.reshape(by_batch, by_head)
    return allowed[b if by_batch > 1 else 0, h if by_head > 1 else 0]


@lru_cache(maxsize=1)
def _kernel(device: str) -> Callable[..., Tensor]:
    """Compiled on a GPU, where it is a kernel; as it is elsewhere, where it is only right."""
    from torch.nn.attention.flex_attention import flex_attention

    kernel: Any = flex_attention
    return torch.compile(kernel) if device == "cuda" else kernel
