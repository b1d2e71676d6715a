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


def concatenated_unsupported_reason(call: Call) -> str | None:
    """Say why a call is not about concatenated sequences."""
    return "no sequences are concatenated" if call.lengths is None else None


def attend_each_concatenated(call: Call, run: Run) -> HeadOutputs:
    """Compute z of (head, token, d_head), in which the sequences follow one another.

    >>> q, k, v = (torch.randn(2, 5, 4) for _ in range(3))
    >>> call = Call.of(q, k, v, masks.padding([2, 3]), scale=0.5, lengths=(2, 3))
    >>> from mhsa_lib.fused.sdpa import attend_unmasked
    >>> z = attend_each_concatenated(call, attend_unmasked)
    >>> second = F.scaled_dot_product_attention(q[:, 2:], k[:, 2:], v[:, 2:], scale=0.5)
    >>> torch.allclose(z[:, 2:], second, atol=1e-6)
    True
    """
    assert call.lengths is not None
    predicate, each = _band_only(call), []
    parts = zip(*(t.split(call.lengths, dim=-2) for t in (call.q, call.k, call.v)), strict=True)
    for part in parts:
        q, k, v = (t[None] for t in part)  # kernels take a batch axis
        each.append(run(call.part(q, k, v, predicate))[0])
    return torch.cat(each, dim=-2)


def each_sequence_unsupported_reason(call: Call) -> str | None:
    """Say why the mask of a call is not a band and the lengths of the batch."""
    structure, q = call.mask.structure, call.q
    if structure.key_lengths is None:
        return "the mask knows no lengths"
    if not structure.exact:
        return "the mask is more than a band and lengths"
    fits = q.ndim == 4 and len(structure.key_lengths) == len(q)
    return None if fits else "the lengths are not those of the batch"


def attend_each_sequence(call: Call, run: Run) -> HeadOutputs:
    """Compute z of (batch, head, query, d_head), each sequence cut to its length.

    The rows of padded queries, which are cut off before, come back as zeros.
    """
    q, k, v, shift, structure = call.q, call.k, call.v, call.shift, call.mask.structure
    n_query, n_key = call.n_query, call.n_key
    key_lengths = structure.key_lengths
    query_lengths = structure.query_lengths or (n_key,) * len(key_lengths)
    predicate, each = _band_only(call), []
    for i, (keys, queries) in enumerate(zip(key_lengths, query_lengths, strict=True)):
        # Lengths count positions, of which the first query has number ``shift``.
        rows, keys = min(max(queries - shift, 0), n_query), min(keys, n_key)
        heads = q[i : i + 1, :, :rows], k[i : i + 1, :, :keys], v[i : i + 1, :, :keys]
        z = run(call.part(*heads, predicate, shift))
        each.append(F.pad(z, (0, 0, 0, n_query - rows)) if rows < n_query else z)
    if len(each) == 1:
        return each[0]
    return torch.cat(each) if each else attend_to_nothing(call)


def attend_to_nothing(call: Call) -> HeadOutputs:
    """Return zeros for queries without any key, with gradients of zero for q, k and v."""
    # Sums over nothing are 0 and keep all three inputs in the graph of autograd.
    v = call.v
    nothing = [t[..., :0].sum().to(v.dtype) for t in (call.q, call.k, v)]
    return sum(nothing[1:], nothing[0]).expand(*call.q.shape[:-1], v.shape[-1])


def _band_only(call: Call) -> masks.Predicate:
    """Return the band of the mask as a mask for one sequence."""
    band = call.mask.structure.band
    return masks.Predicate(band.allows, "band", masks.Structure(band, exact=True))
