"""Every sequence of a batch as a call of its own, so that padding costs nothing.

Each part is asked of the table of kernels again, by the function that is passed in: one
sequence, cut to its length, under the band of the mask and nothing else.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F

from mhsa_lib import masks
from mhsa_lib.fused.call import Call
from mhsa_lib.shapes import HeadOutputs

Run = Callable[[Call], HeadOutputs]


def attend_each_end_to_end(call: Call, run: Run) -> HeadOutputs:
    """z of (head, token, d_head), where the tokens of all sequences lie end to end.

    >>> q, k, v = (torch.randn(2, 5, 4) for _ in range(3))
    >>> call = Call.of(q, k, v, masks.padding([2, 3]), scale=0.5, lengths=(2, 3))
    >>> from mhsa_lib.fused.sdpa import attend_by_sdpa
    >>> z = attend_each_end_to_end(call, attend_by_sdpa)
    >>> second = F.scaled_dot_product_attention(q[:, 2:], k[:, 2:], v[:, 2:], scale=0.5)
    >>> torch.allclose(z[:, 2:], second, atol=1e-6)
    True
    """
    assert call.lengths is not None
    rule, each = _band_only(call), []
    parts = zip(*(t.split(call.lengths, dim=-2) for t in (call.q, call.k, call.v)), strict=True)
    for part in parts:
        q, k, v = (t[None] for t in part)  # kernels take a batch axis
        each.append(run(call.part(q, k, v, rule))[0])
    return torch.cat(each, dim=-2)


def attend_each_sequence(call: Call, run: Run) -> HeadOutputs:
    """z of (batch, head, query, d_head), every sequence cut to the lengths that the mask says.

    The rows of padding that are cut away come back as zeros.
    """
    q, k, v, shift, structure = call.q, call.k, call.v, call.shift, call.mask.structure
    n_query, n_key = call.n_query, call.n_key
    key_lengths = structure.key_lengths
    query_lengths = structure.query_lengths or (n_key,) * len(key_lengths)
    rule, each = _band_only(call), []
    for i, (keys, queries) in enumerate(zip(key_lengths, query_lengths, strict=True)):
        # Lengths are counted in positions, of which the first query has number ``shift``.
        rows, keys = min(max(queries - shift, 0), n_query), min(keys, n_key)
        heads = q[i : i + 1, :, :rows], k[i : i + 1, :, :keys], v[i : i + 1, :, :keys]
        z = run(call.part(*heads, rule, shift))
        each.append(F.pad(z, (0, 0, 0, n_query - rows)) if rows < n_query else z)
    if len(each) == 1:
        return each[0]
    return torch.cat(each) if each else attend_to_nothing(call)


def attend_to_nothing(call: Call) -> HeadOutputs:
    """Zeros for queries that see no key, with gradients of zero for q, k and v."""
    v = call.v
    nothing = [t[..., :0].sum().to(v.dtype) for t in (call.q, call.k, v)]
    return sum(nothing[1:], nothing[0]).expand(*call.q.shape[:-1], v.shape[-1])


def _band_only(call: Call) -> masks.Predicate:
    """The band of a mask, as the mask of one sequence."""
    band = call.mask.structure.band
    return masks.Predicate(band.allows, "band", masks.Structure(band, exact=True))
