"""Which kernel a call runs, and why each before it does not: the table, asked and printed."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from mhsa_lib.fused import dispatch
from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import Keys, Queries, Values


@dataclass(frozen=True)
class Explanation:
    """A call in words, the reasons against the rows that were asked, and the row that runs.

    Printed, it is the table of kernels with the answer to each row.
    """

    call: str
    refused: dict[str, str]
    row: dispatch.Row

    @property
    def kernel(self) -> str:
        """The name of the row that runs."""
        return self.row.name

    def __repr__(self) -> str:
        names = [row.name for row in dispatch.TABLE]
        width = max(map(len, names))
        answers = {**self.refused, self.kernel: f"RUNS: {self.row.when}"}
        lines = [f"{name:{width}}  {answers.get(name, 'not asked')}" for name in names]
        return "\n".join([self.call, *lines])


def explain(
    q: Queries,
    k: Keys,
    v: Values,
    mask: Any = None,
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Explanation:
    """Which kernel ``dispatch.attend`` would run here and now; nothing is computed.

    The answer holds for this call as it is made: with or without gradients, recorded or not,
    under ``torch.func``. Where the table is asked again, for each sequence, ask it about one.

    >>> import torch
    >>> from mhsa_lib import masks
    >>> q, k, v = (torch.empty(1, 8, 512, 64) for _ in range(3))
    >>> explain(q, k, v, masks.prefix(2))
    q (1, 8, 512, 64), k (1, 8, 512, 64), float32 on cpu, mask prefix(2), dropout 0
    any length            nothing is recorded
    definition            nothing is transformed
    varlen                no sequences lie end to end
    sequences end to end  no sequences lie end to end
    nothing               the mask is more than a band
    keys first            not one query
    one query             not one query
    written weights       not bfloat16
    tiles                 the mask is more than a band
    SDPA                  not every query looks at every key
    causal SDPA           the mask is more than a band
    FlexAttention         on a CPU
    SDPA under a tensor   the mask is a rule, on a CPU
    each sequence         the mask knows no lengths
    blocks of queries     RUNS: every other rule, asked about 256 queries at a time, or 64 ...
    """
    call = Call.of(q, k, v, mask, scale=scale, dropout=dropout)
    refused: dict[str, str] = {}
    for row in dispatch.TABLE:
        if not (reason := row.against(call)):
            break
        refused[row.name] = reason
    return Explanation(_words(q, k, mask, dropout), refused, row)


def _words(q: Queries, k: Keys, mask: Any, dropout: float) -> str:
    given = "a boolean tensor" if isinstance(mask, Tensor) else mask
    dtype = str(q.dtype).removeprefix("torch.")
    return (
        f"q {tuple(q.shape)}, k {tuple(k.shape)}, {dtype} on {q.device}, mask {given}, "
        f"dropout {dropout:g}"
    )
