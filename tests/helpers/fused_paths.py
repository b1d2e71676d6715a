"""Every way the fused module can take, as further rows of the comparison of implementations."""

from collections.abc import Callable

from torch import Tensor

from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.kernels import attend_by_definition, attend_in_blocks

Kernel = Callable[..., Tensor]


def by(kernel: Kernel, case: comparison.Case) -> Tensor:
    """One pass with this kernel between the projections."""
    fused = FusedMultiHeadAttention.from_attention(case.attention)
    heads = fused._project(case.x, case.context)
    z = kernel(*heads, case.predicate, fused.scale)
    return fused.W_O(z.transpose(-2, -3).flatten(-2))


def in_blocks(q, k, v, mask, scale):
    if mask is None:
        raise NotApplicableError("a mask")
    call = Call.of(q, k, v, mask, scale=scale)
    if call.sees_all:  # which a kernel above in the table takes, without a mask
        raise NotApplicableError("a mask that hides something")
    return attend_in_blocks(call)


def explicitly(q, k, v, mask, scale):
    return attend_by_definition(Call.of(q, k, v, mask, scale=scale))


PATHS: dict[str, Callable[[comparison.Case], Tensor]] = {
    "fused, in blocks": lambda case: by(in_blocks, case),
    "fused, explicit weights": lambda case: by(explicitly, case),
}
