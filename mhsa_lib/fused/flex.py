"""Predicates on a GPU: FlexAttention compiles the predicate into the kernel.

A block mask says which blocks of 128 × 128 pairs hold anything; the others are skipped, and no
(query × key) tensor of numbers exists.

Source: Dong et al., "Flex Attention", arXiv 2412.05496.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import _torch_private, masks
from mhsa_lib.fused.call import DROPOUT, Call, Kernel
from mhsa_lib.llama_stages import SinkAttend
from mhsa_lib.shapes import HeadOutputs

FEWEST = 128
"""Queries that fill one block; fewer, as in decoding, are not worth seconds of compiling."""

# torch.__version__ compares as a version here, not as a string. Before 2.7 FlexAttention with
# sizes as variables failed (pytorch/pytorch#139064, #146745).
TAKES_ANY_SIZE = torch.__version__ >= "2.7"

NARROWEST = 16
"""Dimensions of a head that the compiled kernel needs at least."""


def _flex_unsupported_reason(call: Call) -> str | None:
    q = call.q
    if q.device.type != "cuda":
        return "not on CUDA"
    if not isinstance(call.mask, masks.Predicate):
        return "the mask is a tensor, not a predicate"
    if not TAKES_ANY_SIZE:
        return "this torch compiles for one size only"
    if call.n_query < FEWEST or q.shape[-1] < NARROWEST or q.ndim != 4:
        return f"fewer than {FEWEST} queries, or of fewer than {NARROWEST} dimensions"
    if _differs_by_sequence(call.mask):
        return "the mask differs between sequences or heads"
    return DROPOUT if call.dropout else None


def _differs_by_sequence(mask: masks.Predicate) -> bool:
    # Within the compiled kernel a rule may look up numbers and compare them; choosing one of
    # many answers by the sequence does not compile (torch 2.13).
    position = torch.zeros((), dtype=torch.long)
    return mask.allows(position, position).ndim > 0


def attend_by_flex(call: Call, steps: Any = None) -> HeadOutputs:
    """Compute z under a predicate, with the cap or sinks of ``steps``; no key gives zeros."""
    q, k, mask = call.q, call.k, call.mask
    # A custom predicate may read a tensor that has changed, so its blocks are made each time.
    made = _kept if mask.fixed else _blocks
    with torch.inference_mode(False):  # blocks are kept, and a later call may need gradients
        blocks = made(mask, q.shape[-2], k.shape[-2], q.device)
    kernel, grouped = _kernel(q.device.type), q.shape[-3] != k.shape[-3]
    given: Any = {"block_mask": blocks, "scale": call.scale, "enable_gqa": grouped}
    if isinstance(steps, SinkAttend):  # all weights are smaller by what the sink takes
        from torch.nn.attention import flex_attention

        ask: Any = getattr(flex_attention, "AuxRequest", None)  # since torch 2.9
        given |= {"return_aux": ask(lse=True)} if ask else {"return_lse": True}
        z, sums = kernel(q, k, call.v, **given)
        share = torch.sigmoid(getattr(sums, "lse", sums) - steps.sinks[:, None])
        return z * share[..., None].to(z.dtype)
    if steps is not None:
        given["score_mod"] = _capped(None if steps.cap == math.inf else steps.cap)
    return kernel(q, k, call.v, **given)


@lru_cache(maxsize=32)  # one for all layers: for another function the kernel compiles again
def _capped(cap: float | None) -> Callable[..., Tensor]:
    return lambda score, *_: cap * torch.tanh(score / cap) if cap else score


FLEX = Kernel("FlexAttention", _flex_unsupported_reason, attend_by_flex)


def _blocks(mask: masks.Predicate, n_query: int, n_key: int, device: torch.device) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    mask = mask.to(device)
    # A number would be a constant of the compiled kernel, and each new one compile again.
    shift = torch.tensor(n_key - n_query, device=device)
    # The first and the last position: what a rule refuses it refuses here, not in the kernel.
    position = torch.tensor([0, max(n_key - 1, 0)], device=device)
    mask.allows(position[:, None], position)

    def allows_pair(b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return mask.allows(query + shift, key)

    return create_block_mask(allows_pair, None, None, n_query, n_key, device=device)


_kept = lru_cache(maxsize=32)(_blocks)


@lru_cache(maxsize=1)
def _kernel(device: str) -> Callable[..., Tensor]:
    """Return FlexAttention, compiled on a GPU; elsewhere it is only right, and slow."""
    from torch.nn.attention.flex_attention import flex_attention

    kernel: Any = flex_attention
    if device != "cuda":
        return kernel
    # From the second number of keys on, torch takes sizes as variables and compiles no more.
    compiled = torch.compile(kernel)

    def call(*heads: Tensor, **given: Any) -> Tensor:
        # Every kind of mask and dtype is a program; uncompiled, all scores would be written.
        with _torch_private.any_number_of_compilations():
            return compiled(*heads, **given)

    return call
