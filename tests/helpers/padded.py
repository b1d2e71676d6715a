"""Positions of sequences that are padded to one length: -1 where no token is."""

import torch


def right_padded(lengths, n_tokens=None):
    """Padding comes last: (sequence, token).

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    token = torch.arange(max(lengths) if n_tokens is None else n_tokens)
    return torch.where(token < torch.tensor(lengths)[:, None], token, -1)


def left_padded(lengths, n_tokens=None):
    """Padding comes first.

    >>> left_padded([3, 1]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    return right_padded(lengths, n_tokens).sort(dim=1).values
