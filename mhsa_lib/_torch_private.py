"""Private names of torch, in one place, each with what to do where it is missing."""

from typing import Any

import torch

_graph_task_id: Any = getattr(torch._C, "_current_graph_task_id", lambda: -1)


def in_backward() -> bool:
    """Whether a backward pass is running in this thread.

    Where torch does not say, the answer is no, and a checkpoint that repeats a pass goes
    unnoticed.

    >>> in_backward()
    False
    """
    return _graph_task_id() != -1
