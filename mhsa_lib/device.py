"""Which device to compute on."""

import torch


def default_device() -> torch.device:
    """The fastest device at hand: cuda, else mps, else cpu.

    >>> default_device().type in {"cuda", "mps", "cpu"}
    True
    """
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
