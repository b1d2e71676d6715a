"""From q, k, v and a mask to z, without a (query × key) tensor: which kernel does it.

``F.scaled_dot_product_attention`` knows "no mask", "causal" and "this boolean tensor". What a
predicate says about its structure becomes calls that need no boolean tensor: a band becomes
tiles, padded sequences are cut to their lengths. Where nothing is known, the rule is asked
about a block of queries at a time. On a GPU that is left to FlexAttention. On a CPU, weights
are written where they are few: in bfloat16 up to 128 tokens, and for one query.

Source: Dao et al., "FlashAttention", arXiv 2205.14135; Dong et al., "Flex Attention", arXiv
2412.05496.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.compiler import is_compiling

from mhsa_lib import functional, masks
from mhsa_lib.fused import choice, flex, tiles, written
from mhsa_lib.masks.structure import Band
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values
from mhsa_lib.trace.watched import only_run, recorded

BLOCK = 256
"""Queries that a rule is asked about at a time."""


def attend(
    q: Queries,
    k: Keys,
    v: Values,
    mask: Any,
    *,
    scale: float,
    dropout: float = 0.0,
    spend_q: bool = False,
) -> HeadOutputs:
    """z of every head; k and v may have fewer heads. ``mask`` as in ``MultiHeadAttention``.

    ``dropout`` is the probability in force: 0 in evaluation. A query that sees nothing gets
    zeros. ``spend_q`` says that q is not needed any more, so z may take its memory.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, masks.sliding_window(2), scale=0.5)
    >>> dense = masks.sliding_window(2).dense(5, 5)
    >>> torch.allclose(z, attend(q, k, v, dense, scale=0.5), atol=1e-6)
    True
    """
    options = {"scale": scale, "dropout_p": dropout, "spend_q": spend_q}
    if not only_run():
        kernel = _for_any_length if recorded() else _by_definition
        return kernel(q, k, v, mask, options)
    if mask is None:
        return _whole(q, k, v, options)
    shift = k.shape[-2] - q.shape[-2]
    known = isinstance(mask, masks.Predicate) and mask.structure.exact
    if known and mask.structure.key_lengths is None:
        z = _without_tensor(q, k, v, mask.structure.band, shift, options)
        if z is not None:
            return z
    if choice.writes_out(q, k, dropout):
        allowed = masks.resolve(mask, (*q.shape[:-1], k.shape[-2]), q.device)
        return written.attend(q, k, v, allowed, scale)
    if not isinstance(mask, masks.Predicate):
        return _with_tensor(q, k, v, mask, options)
    if flex.serves(q, mask, dropout):
        return flex.attend(q, k, v, mask, scale)
    if not q.is_cpu:
        return _with_tensor(q, k, v, mask, options)
    if _cuts_sequences(mask, q):
        return _each_sequence(q, k, v, mask, shift, options)
    return _blocks(q, k, v, mask, options)


def _for_any_length(
    q: Queries, k: Keys, v: Values, mask: Any, options: dict[str, Any]
) -> HeadOutputs:
    """What is recorded now is run with other lengths later: no decision may rest on them."""
    known = isinstance(mask, masks.Predicate) and mask.structure.exact
    causal = known and mask.structure == masks.causal.structure
    if causal and _surely_equal(q.shape[-2], k.shape[-2]):
        return _sdpa(q, k, v, options, is_causal=True)
    mask = masks.resolve(mask, (*q.shape[:-1], k.shape[-2]), q.device)
    return _sdpa(q, k, v, options) if mask is None else _masked(q, k, v, mask, options)


def _surely_equal(n: Any, m: Any) -> bool:
    if not is_compiling():  # torch.jit writes no condition down
        return False
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(n == m)


def _by_definition(
    q: Queries, k: Keys, v: Values, mask: Any, options: dict[str, Any]
) -> HeadOutputs:
    """Plain products carry batches, tangents, derivatives of any order; weights are written."""
    k, v = (functional.share_heads(t, q.shape[-3]) for t in (k, v))
    scores = functional.score(q, k, options["scale"])
    weights = functional.softmax(scores, masks.resolve(mask, scores.shape, q.device))
    return functional.mix(F.dropout(weights, options["dropout_p"]), v)


def _without_tensor(
    q: Queries, k: Keys, v: Values, band: Band, shift: int, options: dict[str, Any]
) -> HeadOutputs | None:
    """z where one call without a boolean tensor does it, or tiles; None where nothing does."""
    low, high = band.keys(shift, shift + q.shape[-2], k.shape[-2])
    band = band.within(q.shape[-2], k.shape[-2], shift)
    everything = band.ahead is None and band.behind is None
    if everything or (q.shape[-2] == 1 and high > low):
        return _whole(q, k[..., low:high, :], v[..., low:high, :], options)
    if choice.writes_out(q, k, options["dropout_p"]):
        return written.attend_in_band(q, k, v, band, shift, options["scale"])
    if choice.in_tiles(q, k, options["dropout_p"]):
        return _tiled(q, k, v, band, shift, options)
    if band == Band(ahead=0) and shift == 0 and not choice.cuts_finely(q, options["dropout_p"]):
        return _sdpa(q, k, v, options, is_causal=True)
    return None


def _whole(q: Queries, k: Keys, v: Values, options: dict[str, Any]) -> HeadOutputs:
    """Every query looks at every key."""
    if q.shape[-2] == 1 and not options["dropout_p"]:
        return _one_query(q, k, v, options)
    if choice.writes_out(q, k, options["dropout_p"]):
        return written.attend(q, k, v, None, options["scale"])
    if choice.in_tiles(q, k, options["dropout_p"]):
        return _tiled(q, k, v, Band(), 0, options)
    return _sdpa(q, k, v, options)


def _one_query(q: Queries, k: Keys, v: Values, options: dict[str, Any]) -> HeadOutputs:
    """The heads of a group read the same keys: as rows of one head they are read once."""
    group, rows = q.shape[-3] // k.shape[-3], q
    if group > 1:
        rows = q.unflatten(-3, (-1, group)).squeeze(-2)
    if choice.reads_most(k):
        z = written.attend_few(rows, k, v, options["scale"])
    else:
        z = _sdpa(rows, k, v, options)
    return z.flatten(-3, -2).unsqueeze(-2) if group > 1 else z


def _tiled(
    q: Queries, k: Keys, v: Values, band: Band, shift: int, options: dict[str, Any]
) -> HeadOutputs:
    Q, K, V = (t.reshape(-1, *t.shape[-3:]) for t in (q, k, v))
    z = tiles.attend(Q, K, V, options["scale"], band, shift, spend_q=options["spend_q"])
    return z.view(*q.shape[:-1], v.shape[-1])


def _cuts_sequences(mask: masks.Predicate, q: Tensor) -> bool:
    lengths = mask.structure.key_lengths
    return (
        mask.structure.exact and lengths is not None and q.ndim == 4 and len(lengths) == len(q)
    )


def _each_sequence(
    q: Queries, k: Keys, v: Values, mask: masks.Predicate, shift: int, options: dict[str, Any]
) -> HeadOutputs:
    """Every sequence cut to its length, so that padding costs nothing."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    key_lengths = mask.structure.key_lengths or ()
    query_lengths = mask.structure.query_lengths or (n_key,) * len(key_lengths)
    parts = []
    for i, (keys, queries) in enumerate(zip(key_lengths, query_lengths, strict=True)):
        rows, keys = min(max(queries - shift, 0), n_query), min(keys, n_key)
        part = q[i : i + 1, :, :rows], k[i : i + 1, :, :keys], v[i : i + 1, :, :keys]
        z = _cut(*part, mask.structure.band, shift, options)
        parts.append(F.pad(z, (0, 0, 0, n_query - rows)) if rows < n_query else z)
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if parts else _nothing(q, k, v)


def _cut(
    q: Queries, k: Keys, v: Values, band: Band, shift: int, options: dict[str, Any]
) -> HeadOutputs:
    if not (q.shape[-2] and k.shape[-2]):
        return _nothing(q, k, v)
    z = _without_tensor(q, k, v, band, shift, options)
    if z is None:
        rule = masks.Predicate(band.allows, "band", masks.Structure(band))
        z = _blocks(q, k, v, rule, options, shift)
    return z


def _blocks(
    q: Queries,
    k: Keys,
    v: Values,
    mask: masks.Predicate,
    options: dict[str, Any],
    shift: int | None = None,
) -> HeadOutputs:
    """The rule asked about some queries at a time, and about the keys in their band."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    shift = n_key - n_query if shift is None else shift
    rows = 64 if choice.cuts_finely(q, options["dropout_p"]) else BLOCK
    parts = []
    for start in range(0, n_query, rows):
        end = min(start + rows, n_query)
        low, high = mask.structure.band.keys(start + shift, end + shift, n_key)
        query = torch.arange(start + shift, end + shift, device=q.device)[:, None]
        key = torch.arange(low, high, device=q.device)
        allowed = mask(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        allowed = allowed.expand(*allowed.shape[:-2], end - start, high - low)
        keys = k[..., low:high, :], v[..., low:high, :]
        parts.append(_with_tensor(q[..., start:end, :], *keys, allowed, options))
    return torch.cat(parts, dim=-2) if parts else _nothing(q, k, v)


def _with_tensor(
    q: Queries, k: Keys, v: Values, mask: Any, options: dict[str, Any]
) -> HeadOutputs:
    mask = masks.resolve(mask, (*q.shape[:-1], k.shape[-2]), q.device)
    return _whole(q, k, v, options) if mask is None else _masked(q, k, v, mask, options)


def _masked(
    q: Queries, k: Keys, v: Values, mask: Tensor, options: dict[str, Any]
) -> HeadOutputs:
    sees_nothing = ~mask.any(dim=-1, keepdim=True)
    z = _sdpa(q, k, v, options, attn_mask=mask | sees_nothing)
    return z.masked_fill(sees_nothing, 0.0)


def _nothing(q: Queries, k: Keys, v: Values) -> HeadOutputs:
    """Zeros for queries that see no key, with gradients of zero for all three."""
    nothing = [t[..., :0].sum().to(v.dtype) for t in (q, k, v)]
    return sum(nothing[1:], nothing[0]).expand(*q.shape[:-1], v.shape[-1])


def _sdpa(q: Queries, k: Keys, v: Values, options: dict[str, Any], **mask: Any) -> HeadOutputs:
    grouped = bool(q.shape[-3] != k.shape[-3])  # under torch.jit.trace a size is a tensor
    scale, dropout = options["scale"], options["dropout_p"]
    return F.scaled_dot_product_attention(
        q, k, v, **mask, scale=scale, dropout_p=dropout, enable_gqa=grouped
    )
