"""Do two numbers about the same heads rank them alike?

Source: Spearman, "The Proof and Measurement of Association between Two Things", American
    Journal of Psychology 15, 1904.
"""

from torch import Tensor


def ranks(values: Tensor) -> Tensor:
    """Places from 1, the smallest first; equal values share the mean of theirs.

    >>> import torch
    >>> ranks(torch.tensor([3.0, 1.0, 3.0]))
    tensor([2.5000, 1.0000, 2.5000], dtype=torch.float64)
    """
    below = (values[..., None, :] < values[..., None]).sum(dim=-1)
    same = (values[..., None, :] == values[..., None]).sum(dim=-1)
    return below.double() + (same.double() + 1) / 2


def spearman(one: Tensor, two: Tensor) -> Tensor:
    """Rank correlation along the last axis: 1 for the same order, -1 for the opposite one.

    (layer, head) gives one number a layer; flatten first for one over all heads. NaN where all
    values of a row are equal. Twelve heads are few: without any relation, one in twenty rows
    is beyond ±0.58.

    >>> import torch
    >>> spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 9.0, 4.0]))
    tensor(0.5000, dtype=torch.float64)
    """
    if one.shape != two.shape or one.shape[-1:].numel() < 2:
        raise ValueError(
            f"values {tuple(one.shape)} and {tuple(two.shape)}; give one shape, with at least "
            f"two heads along the last axis."
        )
    a, b = (ranks(values) for values in (one, two))
    a, b = a - a.mean(dim=-1, keepdim=True), b - b.mean(dim=-1, keepdim=True)
    return (a * b).sum(dim=-1) / (a.norm(dim=-1) * b.norm(dim=-1))
