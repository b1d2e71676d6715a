"""The heads for which a number is largest, by name."""

from torch import Tensor


def strongest(values: Tensor, k: int = 5) -> dict[str, float]:
    """The k heads with the largest numbers, (layer, head), the largest first.

    For the smallest, give ``-values``, and the numbers have their signs changed.

    Raises ``ValueError`` for another shape, or for more heads than there are.

    >>> import torch
    >>> strongest(torch.tensor([[0.1, 0.7], [0.4, 0.2]]), k=2)
    {'L0H1': 0.7, 'L1H0': 0.4}
    """
    if values.ndim != 2 or not 1 <= k <= values.numel():
        raise ValueError(
            f"values {tuple(values.shape)} and k={k}; give (layer, head) and 1 to "
            f"{values.numel()} of its heads."
        )
    most = values.flatten().topk(k)
    places = [divmod(place, values.shape[1]) for place in most.indices.tolist()]
    numbers = [round(number, 2) for number in most.values.tolist()]
    return {f"L{i}H{j}": n for (i, j), n in zip(places, numbers, strict=True)}
