"""Seven rules that make the weights of a head from one row of scores.

Sources: QK-norm, Henry et al., arXiv 2010.04245; QK-clip, Kimi K2, section 2.1, arXiv
2507.20534; sigmoid, Ramapuram et al., arXiv 2409.04431; one map minus another, Ye et al., arXiv
2410.05258; a learned sink, gpt-oss; a gate, Qiu et al., arXiv 2505.06708.
"""

import math

import torch
from torch import Tensor

from mhsa_lib import functional

TAU = 10.0
"""QK-clip brings the largest score down to this."""

HIGHEST = 4.0
"""√d_head of a head of 16 columns: no score of normed queries and keys exceeds it."""

RULES = {
    "softmax": "softmax",
    "norm": "QK-norm",
    "clip": "QK-clip",
    "sigmoid": "sigmoid",
    "minus": "difference",
    "sink": "learned sink",
    "gate": "gate",
}


def weights(scores: Tensor, there: Tensor, factor: float, part: float, sink: float) -> Tensor:
    """Weights by rule and key, (rule, key), of one row of ``scores``.

    ``scores`` are those of normed queries and keys, and ``factor`` is how much longer the query
    is; ``there`` is False for keys that are removed. ``part`` is λ, times a flat map; ``sink``
    is the score of one more key, without a value. The bias of the sigmoid is -ln of all keys.

    >>> weights(torch.zeros(4), torch.ones(4).bool(), 1.0, 0.5, 0.0).sum(dim=-1)
    tensor([1.0000, 1.0000, 1.0000, 0.8000, 0.5000, 0.8000, 1.0000])
    """
    loud = factor * scores
    softmax = _softmax(loud, there)
    largest = loud[there].max().item() if there.any() else 0.0
    clipped = loud * (TAU / largest if largest > TAU else 1.0)
    widened = torch.cat([loud, loud.new_tensor([sink])])
    by_rule = {
        "softmax": softmax,
        "norm": _softmax(scores, there),
        "clip": _softmax(clipped, there),
        "sigmoid": (loud - math.log(len(scores))).sigmoid() * there,
        "minus": softmax - part * _softmax(torch.zeros_like(loud), there),
        "sink": _softmax(widened, torch.nn.functional.pad(there, (0, 1), value=True))[:-1],
        "gate": softmax,
    }
    return torch.stack([by_rule[rule] for rule in RULES])


def _softmax(row: Tensor, there: Tensor) -> Tensor:
    """One query of one head."""
    return functional.softmax(row[None, None], there[None, None])[0, 0]
