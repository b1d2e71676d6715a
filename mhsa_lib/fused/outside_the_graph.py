"""A call that ``torch.compile`` leaves out of its graph, as torchtune does with FlexAttention.

It is imported while dynamo traces and never before: the decorators load the compiler, which
takes seconds.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import _torch_private


@torch.compiler.assume_constant_result
def graph_may_break() -> bool:
    """Say, while dynamo traces a program, whether it may have several graphs."""
    return _torch_private.dynamo_may_break_its_graph()


@torch.compiler.disable
def call(function: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
    """Call a function when the program runs, with the sizes it then has."""
    return function(*args, **options)
