"""Every way the fused module can take, as further implementations for the equivalence wall."""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_lib.fused import blas
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.fused.blocks import attend_in_blocks
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.tiled import attend_in_tiles
from mhsa_lib.fused.written import attend_by_written_weights

Kernel = Callable[..., Tensor]


def machine(*, onednn_is_faster: bool):
    """As on a processor where oneDNN is the faster library, or is not."""
    return blas.linear_by("onednn" if onednn_is_faster else "torch")


def by(kernel: Kernel, case: comparison.Case) -> Tensor:
    """One pass with this kernel between the projections."""
    fused = FusedMultiHeadAttention.from_attention(case.attention)
    heads = fused._project(case.x, case.context)
    z = kernel(*heads, case.predicate, fused.scale)
    return fused.W_O(z.transpose(-2, -3).flatten(-2))


def in_tiles(q, k, v, mask, scale):
    if mask is not None and (
        not mask.structure.exact or mask.structure.key_lengths is not None
    ):
        raise NotApplicableError("bands only")
    return attend_in_tiles(Call.of(q, k, v, mask, scale=scale))


def in_blocks(q, k, v, mask, scale):
    if mask is None:
        raise NotApplicableError("a mask")
    return attend_in_blocks(Call.of(q, k, v, mask, scale=scale))


def written_out(q, k, v, mask, scale):
    if q.shape[-3] != k.shape[-3]:
        raise NotApplicableError("heads of their own")
    return attend_by_written_weights(Call.of(q, k, v, mask, scale=scale))


def packed(case: comparison.Case) -> Tensor:
    fused = FusedMultiHeadAttention.from_attention(case.attention).pack()
    with torch.no_grad():
        return fused(case.x, case.context, case.predicate)


def on(faster: bool, case: comparison.Case) -> Tensor:
    fused = FusedMultiHeadAttention.from_attention(case.attention)
    with machine(onednn_is_faster=faster), torch.no_grad():
        return fused(case.x, case.context, case.predicate)


PATHS: dict[str, Callable[[comparison.Case], Tensor]] = {
    "fused, in tiles": lambda case: by(in_tiles, case),
    "fused, in blocks": lambda case: by(in_blocks, case),
    "fused, written out": lambda case: by(written_out, case),
    "fused, packed weights": packed,
    "fused, oneDNN faster": lambda case: on(True, case),
    "fused, oneDNN slower": lambda case: on(False, case),
}
