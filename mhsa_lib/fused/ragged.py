"""A padded batch as what it is: sequences of different lengths, one after the other.

Padding is left out before the first product, so no projection, score or gradient is spent on
it. What a padded row of the result holds is known beforehand: the bias of W_O.

Source: Zeng et al., "Boosting Distributed Training Performance of the Unpadded BERT Model",
arXiv 2208.08124.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.fused import choice, dispatch, linear, varlen
from mhsa_lib.masks.structure import Band, positions
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values
from mhsa_lib.trace.watched import only_run


def lengths_of(mask: Any, x: Tensor, dropout: float = 0.0) -> tuple[int, ...] | None:
    """How many tokens of each sequence are real, if the mask says that the others are padding.

    None if it does not, if nothing is padded, while recording, where lengths would be constants
    of the recorded program, under transforms, or where few tokens are trained faster as one
    padded product; under ``dropout``, with gradients or without, so that both draw alike.

    >>> lengths_of(masks.padding([3, 9]), torch.zeros(2, 5, 12))
    (3, 5)
    """
    if not isinstance(mask, masks.Predicate) or x.ndim != 3 or not only_run():
        return None
    lengths = mask.structure.query_lengths
    known = (
        mask.structure.exact and lengths is not None and lengths == mask.structure.key_lengths
    )
    if lengths is None or not known or len(lengths) != len(x):
        return None
    trained = (torch.is_grad_enabled() or dropout) and x.is_cpu
    if trained and choice.is_short(linear.computing_in(x), *[x.shape[1]] * 2):
        return None
    lengths = tuple(min(length, x.shape[1]) for length in lengths)
    return None if sum(lengths) == x.shape[0] * x.shape[1] else lengths


def places(lengths: tuple[int, ...], n_tokens: int, device: torch.device) -> Tensor:
    """Rows of the real tokens in a batch padded to ``n_tokens`` and then flattened.

    >>> places((1, 2), 3, torch.device("cpu"))
    tensor([0, 3, 4])
    """
    starts = range(0, n_tokens * len(lengths), n_tokens)
    pairs = zip(lengths, starts, strict=True)
    return torch.cat([positions(length, start, device) for length, start in pairs])


def attend(
    q: Queries,
    k: Keys,
    v: Values,
    lengths: tuple[int, ...],
    band: Band,
    *,
    scale: float,
    dropout: float = 0.0,
    spend_q: bool = False,
) -> HeadOutputs:
    """z of (head, token, d_head), where the tokens are those of all sequences.

    >>> q, k, v = (torch.randn(2, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, (2, 3), Band(), scale=0.5)
    >>> second = dispatch.attend(q[:, 2:], k[:, 2:], v[:, 2:], None, scale=0.5)
    >>> torch.allclose(z[:, 2:], second, atol=1e-6)
    True
    """
    if varlen.serves(q, band, dropout):
        return varlen.attend(q, k, v, lengths, band, scale)
    rule = masks.Predicate(band.allows, "band", masks.Structure(band, exact=True))
    options: dict[str, Any] = {"scale": scale, "dropout": dropout, "spend_q": spend_q}
    each = []
    for part in zip(*(t.split(lengths, dim=-2) for t in (q, k, v)), strict=True):
        one, keys, values = (t[None] for t in part)  # kernels take a batch axis
        each.append(dispatch.attend(one, keys, values, rule, **options)[0])
    return torch.cat(each, dim=-2)
