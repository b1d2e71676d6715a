"""A call that ``torch.compile`` leaves out of its graph.

A window, a prefix or padding needs no (query × key) tensor when the sizes are known, and a
compiled program does not know them. torchtune wraps its compiled FlexAttention the same way.

This module is imported while dynamo traces and never before: the decorators below load the
compiler, which takes seconds.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import _torch_private


@torch.compiler.assume_constant_result
def graph_may_break() -> bool:
    """Say whether the program being traced may have several graphs.

    Dynamo runs this while it traces, and keeps the answer. Without an answer of torch's the
    graph stays whole, and a dense mask is written.
    """
    return _torch_private.dynamo_may_break_its_graph()


@torch.compiler.disable
def call(function: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
    """Call a function when the program runs, with the sizes it then has."""
    return function(*args, **options)
