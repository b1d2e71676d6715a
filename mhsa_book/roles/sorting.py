"""Heads sorted by a number that each of them has."""

from torch import Tensor


def best(table: Tensor, n: int = 3) -> list[tuple[int, int]]:
    """Return the ``n`` heads with the largest numbers of a table (layer, head).

    Each is (layer, head), and the largest comes first. Raises ``ValueError`` for another shape
    or a table with fewer heads.

    >>> import torch
    >>> best(torch.tensor([[0.1, 0.9], [0.5, 0.2]]), 2)
    [(0, 1), (1, 0)]
    """
    if table.ndim != 2 or not 1 <= n <= table.numel():
        raise ValueError(
            f"table {tuple(table.shape)} has to be (layer, head) with at least n={n} heads."
        )
    n_heads = table.shape[1]
    return [divmod(i, n_heads) for i in table.flatten().topk(n).indices.tolist()]


def strongest(table: Tensor, n: int = 3) -> str:
    """Return the ``n`` heads with the largest numbers of a table (layer, head), as a line.

    Raises what ``best`` raises.

    >>> import torch
    >>> strongest(torch.tensor([[0.1, 0.9], [0.5, 0.2]]), 2)
    'L0H1 0.90, L1H0 0.50'
    """
    return ", ".join(
        f"L{layer}H{head} {table[layer, head]:.2f}" for layer, head in best(table, n)
    )
