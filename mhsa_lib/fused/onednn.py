"""Products of matrices by oneDNN, the second library of products that torch carries for a CPU.

torch uses it for bfloat16; the operators are those that ``torch.compile`` calls in frozen
models, and a torch without them has none here. Nothing but the rounding differs.

Source: Intel, oneDNN, https://uxlfoundation.github.io/oneDNN/.
"""

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_lib.execution_mode import is_plain_cpu_tensor, is_transformed


@cache
def is_here() -> bool:
    """Whether this torch can call oneDNN for a linear map."""
    if not torch.backends.mkldnn.is_available():
        return False
    names = "_linear_pointwise", "_reorder_linear_weight"
    return all(hasattr(torch.ops.mkldnn, name) for name in names)


def times(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``, the call of oneDNN itself."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def product(x: Tensor, y: Tensor) -> Tensor:
    """``x @ y.mT`` of matrices, one or many, on a CPU, without gradients.

    oneDNN is called for a single pair in float32; everything else is that of PyTorch.

    >>> x, y = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    >>> torch.allclose(product(x, y), x @ y.mT)
    True
    """
    if x.shape[:-2].numel() > 1:
        return x @ y.mT
    one, other = x.flatten(end_dim=-2), y.flatten(end_dim=-2)
    by_onednn = x.dtype is torch.float32 and is_here()
    z = times(one, other) if by_onednn else one @ other.T  # bmm would copy a turned one
    return z.view(*x.shape[:-1], -1)


def computing_in(x: Tensor) -> torch.dtype:
    """The dtype of a product with x: its own, or that of autocast on a CPU, but for float64.

    >>> with torch.autocast("cpu", torch.bfloat16):
    ...     computing_in(torch.zeros(2)), computing_in(torch.zeros(2, dtype=torch.float64))
    (torch.bfloat16, torch.float64)
    """
    if not torch.is_autocast_enabled("cpu") or x.dtype is torch.float64 or not x.is_cpu:
        return x.dtype
    return torch.get_autocast_dtype("cpu")


def multiplies(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether oneDNN can compute these, in the type in which ``F.linear`` would."""
    dtype = computing_in(x)
    return (
        dtype in (torch.float32, torch.bfloat16)
        and computing_in(weight) is dtype
        and (bias is None or computing_in(bias) is dtype)
        and is_here()
        and is_plain_cpu_tensor(x, weight)
    )


class LinearFunction(torch.autograd.Function):
    """The product and its two gradients, each one call of oneDNN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return times(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """To x, weight and bias, as far as they are asked for."""
        x, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        # For derivatives of these gradients, products that have derivatives themselves.
        multiply = F.linear if differentiated_again(grad) else times
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = multiply(grad.contiguous(), weight.T.contiguous())
        if ctx.needs_input_grad[1]:
            columns = x.reshape(-1, x.shape[-1]).T.contiguous()
            to_weight = multiply(rows.T.contiguous(), columns)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            to_bias = rows.sum(dim=0)
        return to_x, to_weight, to_bias


def differentiated_again(grad: Tensor) -> bool:
    """Whether a backward pass is itself differentiated (``create_graph=True``) or batched."""
    several = torch._C._functorch.is_legacy_batchedtensor(grad)  # is_grads_batched=True
    return torch.is_grad_enabled() or is_transformed() or several or type(grad) is not Tensor
