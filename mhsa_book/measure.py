"""Numbers about attention weights (…, query, key), about learned matrices, and about gates.

Each row of ``weights`` is a distribution over keys. A row of zeros (a query that may attend to
nothing) counts as zero in every mean; ``agreement`` leaves it out.

Sources: Clark et al., "What Does BERT Look At?", section 3, arXiv 1906.04341; Voita et al.,
"Analyzing Multi-Head Self-Attention", section 4, arXiv 1905.09418; Elhage et al., "A
Mathematical Framework for Transformer Circuits", 2021.
"""

import math

import torch
from torch import Tensor

from mhsa_lib import checks


def entropy(weights: Tensor) -> Tensor:
    """Return how spread out each query's attention is, in nats: (…, query).

    0 when one key gets everything, ln(n_key) when all keys get the same.

    >>> entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.0, 0.6931471824645996]
    """
    return torch.special.entr(weights).sum(dim=-1)


def distance(weights: Tensor) -> Tensor:
    """Return the mean distance in tokens between a query and what it attends to: (…, query).

    >>> distance(torch.eye(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    return (weights * _offsets(weights).abs()).sum(dim=-1)


def at_offset(weights: Tensor, offset: int) -> Tensor:
    """Return the mean weight on the token at ``offset``, over the queries that have one.

    -1 is the previous token, 0 the token itself, 1 the next. Shape: the leading axes.

    >>> at_offset(torch.eye(3), 0).item(), at_offset(torch.eye(3), -1).item()
    (1.0, 0.0)
    """
    on_offset = _offsets(weights) == offset
    n = int(on_offset.sum())
    if not n:
        raise ValueError(
            f"offset={offset} leaves no pair of tokens in weights {tuple(weights.shape[-2:])}; "
            f"use a smaller offset or a longer text."
        )
    return (weights * on_offset).sum(dim=(-2, -1)) / n


def on_key(weights: Tensor, key: int) -> Tensor:
    """Return the mean weight on one key over all queries: (…). On key 0, the sink mass.

    >>> on_key(torch.eye(4), 0).item()
    0.25
    """
    n_key = weights.shape[-1]
    if not -n_key <= key < n_key:
        raise ValueError(f"key={key} is not a position; there are {n_key} keys.")
    return weights[..., key].mean(dim=-1)


def confidence(weights: Tensor) -> Tensor:
    """Return the mean of the queries' largest weights: (…). 1 for a head that always decides.

    >>> confidence(torch.eye(3)).item()
    1.0
    """
    return weights.amax(dim=-1).mean(dim=-1)


def agreement(weights: Tensor) -> Tensor:
    """How alike the heads attend: (head, head), 1 for the same rows, 0 for disjoint ones.

    One minus the mean Jensen–Shannon divergence (base 2) of the two heads' distributions, over
    the queries of all leading axes that see something in both heads; 1 where there is none.
    ``weights`` is (…, head, query, key).

    >>> weights = torch.stack([torch.eye(3), torch.eye(3), torch.eye(3).roll(1, 0)])
    >>> agreement(weights)
    tensor([[1., 1., 0.],
            [1., 1., 0.],
            [0., 0., 1.]])
    """
    if weights.ndim < 3:
        raise ValueError(
            f"weights {tuple(weights.shape)} have no head axis; pass (…, head, query, key)."
        )
    # Every head against every head by broadcasting, in bits at the end: at most 1.
    a, b = weights.unsqueeze(-3), weights.unsqueeze(-4)
    divergence = entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2
    # Zeros have no entropy: compared with an empty row, a head would seem half in agreement.
    both = ((a != 0).any(dim=-1) & (b != 0).any(dim=-1)).to(weights.dtype)
    rest = [axis for axis in range(both.ndim) if axis not in (both.ndim - 3, both.ndim - 2)]
    summed, n = (divergence * both).sum(dim=rest), both.sum(dim=rest)
    return 1 - summed / n.clamp(min=1) / math.log(2)


def composition(writes: Tensor, reads: Tensor) -> Tensor:
    """How much of what a head writes another head reads: (writing head, reading head).

    Both are (head, d_model, d_model), for tokens as rows. ``writes`` holds W_V W_O of the
    earlier heads. ``reads`` holds what the later heads do with a row of the stream:
    W_Q W_Kᵀ for Q-composition, its transpose for K-composition, W_V W_O for V-composition.

    The score is ‖A B‖ / (‖A‖ ‖B‖) with Frobenius norms: at most 1, and 0 if no column that is
    written is read. Products of random matrices have about 1/√d_model. A head of zeros has 0.

    >>> writes = torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])  # into column 1
    >>> reads = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
    >>> composition(writes, reads)  # from column 0, and from column 1
    tensor([[0., 1.]])
    """
    shapes = tuple(writes.shape), tuple(reads.shape)
    if [len(shape) for shape in shapes] != [3, 3] or len({*shapes[0][1:], *shapes[1][1:]}) > 1:
        raise ValueError(
            f"writes {shapes[0]} and reads {shapes[1]} are not (head, d_model, d_model) of one "
            f"d_model; give the products of each head's own parts of the matrices."
        )
    # 0 / 0 for a head of zeros, which composes with nothing.
    product = torch.linalg.matrix_norm(writes[:, None] @ reads)
    norms = torch.linalg.matrix_norm(writes)[:, None] * torch.linalg.matrix_norm(reads)
    return torch.where(norms == 0, norms, product / norms)


def loads(gates: Tensor) -> Tensor:
    """Return the share of tokens that use each head (head,), from the wire ``gates``.

    ``gates`` are those of a ``MixtureOfHeadAttention``, (…, query, head).

    >>> loads(torch.tensor([[1.0, 0.7, 0.0], [1.0, 0.0, 1.3]]))
    tensor([1.0000, 0.5000, 0.5000])
    """
    return (gates != 0).flatten(end_dim=-2).float().mean(dim=0)


def _offsets(weights: Tensor) -> Tensor:
    n_query, n_key = weights.shape[-2:]
    checks.positive(n_query=n_query, n_key=n_key)
    # With fewer queries than keys, as in decoding, queries are the last positions.
    query = torch.arange(n_key - n_query, n_key, device=weights.device)[:, None]
    return torch.arange(n_key, device=weights.device) - query
