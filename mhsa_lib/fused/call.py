"""What is asked of the table of kernels: one pass from q, k, v and a mask to z.

What follows from the sizes and from what the mask says about itself is worked out here, once,
so that every row of the table reads it and none works it out again.
"""

from dataclasses import dataclass
from typing import Any

from mhsa_lib import masks
from mhsa_lib.masks.structure import NO_LIMIT, Band
from mhsa_lib.shapes import Keys, Queries, Values
from mhsa_lib.trace.watched import only_run


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call:
    """One pass, and what is known about it; made by ``Call.of``.

    Parameters
    ----------
    q, k, v : heads of queries, keys and values; k and v may have fewer heads
    mask : as in ``MultiHeadAttention``: None, a predicate or a boolean tensor
    scale : what scores are multiplied by
    dropout : the probability in force of dropping a weight: 0 in evaluation
    spend_q : q is not needed any more, so z may take its memory
    lengths : where sequences lie end to end, without a batch axis: the tokens of each
    shift : the query in row i stands at position i + ``shift`` of the keys
    band : all that the mask forbids, if that is a band and no more; None if it is not
    sees_all : every query looks at every key
    only_run : operations are neither recorded nor transformed; otherwise nothing is derived
    """

    q: Queries
    k: Keys
    v: Values
    mask: Any
    scale: float
    dropout: float = 0.0
    spend_q: bool = False
    lengths: tuple[int, ...] | None = None
    shift: int = 0
    band: Band | None = None
    sees_all: bool = False
    only_run: bool = True

    @classmethod
    def of(
        cls,
        q: Queries,
        k: Keys,
        v: Values,
        mask: Any,
        *,
        scale: float,
        dropout: float = 0.0,
        spend_q: bool = False,
        lengths: tuple[int, ...] | None = None,
        shift: int | None = None,
    ) -> "Call":
        """The call with all that follows; queries are the last keys where no shift is given.

        Limits of a band that no query reaches are left out, and a single query is given only
        the keys that it sees, so that under a causal mask or a window it sees all of them.

        >>> import torch
        >>> q, k = torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 9, 4)
        >>> call = Call.of(q, k, k, masks.sliding_window(3), scale=0.5)
        >>> call.sees_all, tuple(call.k.shape)
        (True, (1, 2, 3, 4))
        """
        if not only_run():  # what is recorded runs with other sizes later: derive nothing
            return cls(q, k, v, mask, scale, dropout, only_run=False)
        n_query, n_key = q.shape[-2], k.shape[-2]
        if shift is None:
            shift = n_key - n_query
        if mask is None:
            return cls(q, k, v, mask, scale, dropout, spend_q, lengths, shift, NO_LIMIT, True)
        band = _band(mask)
        if band is None or lengths is not None:
            return cls(q, k, v, mask, scale, dropout, spend_q, lengths, shift)
        low, high = band.keys(shift, shift + n_query, n_key)
        if n_query == 1 and low < high:
            k, v, band = k[..., low:high, :], v[..., low:high, :], NO_LIMIT
        else:
            band = band.within(n_query, n_key, shift)
        sees_all = band.ahead is None and band.behind is None
        return cls(q, k, v, mask, scale, dropout, spend_q, None, shift, band, sees_all)

    def part(
        self, q: Queries, k: Keys, v: Values, mask: Any, shift: int | None = None
    ) -> "Call":
        """The call about some of these heads under another mask; the rest is as here."""
        return Call.of(
            q,
            k,
            v,
            mask,
            scale=self.scale,
            dropout=self.dropout,
            spend_q=self.spend_q,
            shift=shift,
        )


def _band(mask: Any) -> Band | None:
    if not isinstance(mask, masks.Predicate):
        return None
    reach = mask.reach
    return reach.band if reach.exact and reach.key_lengths is None else None
