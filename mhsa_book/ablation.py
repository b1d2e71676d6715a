"""What may take the place of a head's output ``z`` when the head is switched off.

Each function gets the ``z`` to replace, (…, token, d_head), and what the head gave at other
tokens, ``others``, (…, other token, d_head). Zero is simple, but the layers behind have never
seen it. The mean is what they see on average. A resampled ``z`` is one that they could have
seen, and it is wrong nearly always.
"""

import torch
from torch import Tensor


def zero(z: Tensor, others: Tensor, seed: int = 0) -> Tensor:
    """Replace z by zeros."""
    return torch.zeros_like(z)


def mean(z: Tensor, others: Tensor, seed: int = 0) -> Tensor:
    """Replace z by the mean over the other tokens, the same vector at every token.

    >>> mean(torch.zeros(2, 1), torch.tensor([[1.0], [3.0]])).tolist()
    [[2.0], [2.0]]
    """
    return others.mean(dim=-2, keepdim=True).expand_as(z)


def resample(z: Tensor, others: Tensor, seed: int = 0) -> Tensor:
    """Replace the z of every token by that of a token drawn from the others.

    The draw depends on the seed and on the shape alone. Axes in front that ``others`` has too,
    such as layers and heads, share one draw.

    >>> resample(torch.zeros(3, 1), torch.tensor([[7.0]])).tolist()
    [[7.0], [7.0], [7.0]]
    """
    generator = torch.Generator().manual_seed(seed)
    places = z.shape[others.ndim - 2 : -1]
    return others[..., torch.randint(others.shape[-2], places, generator=generator), :]
