"""A module of one's own in the comparison table."""

from collections.abc import Callable

from torch import Tensor, nn

from mhsa_book.conversions.fill import fill
from mhsa_book.equivalence.cases import Case, Size
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_lib.stages import maps_of

SIZES = (Size(2, 6, 6, 12, 3), Size(3, 5, 5, 8, 4), Size(1, 1, 1, 6, 1), Size(2, 3, 7, 12, 2))
"""Without biases, and with d_head = d_model / n_heads; the last is cross-attention."""


def own(build: Callable[[int, int], nn.Module]) -> Callable[[Case], Tensor]:
    """A row for a class ``build(d_model, n_heads)``, called (x, context, mask).

    ``context`` is None or the tokens that answer, ``mask`` None or a boolean tensor with True
    for *may look*. The module gets the weights of each case as ``conversions.fill`` says.
    A ``forward`` that is not written yet shows as such.

    >>> import torch
    >>> from mhsa_book.equivalence import comparison
    >>> class Mine(nn.Module): ...
    >>> rows = {"mine": own(Mine)}
    >>> {r.reason for r in comparison.build(SIZES, [torch.float32], rows, rows)}
    {'not written'}
    """

    def run(case: Case) -> Tensor:
        if getattr(build, "forward", None) is nn.Module.forward:
            raise NotApplicableError("not written")
        attention = case.attention
        weights = {name: W.weight for name, W in maps_of(attention).items()}
        y = fill(build(attention.d_model, attention.n_heads), weights)(
            case.x, case.context, case.dense
        )
        if not isinstance(y, Tensor):
            raise NotApplicableError("not written")
        return y

    return run
