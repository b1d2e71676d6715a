"""Heads on several devices: every rank keeps some heads, and one all-reduce joins them.

Source: Shoeybi et al., "Megatron-LM", section 3, arXiv 1909.08053.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

from mhsa_lib._torch_private import parameters_replaced
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.parallel.one_rank import divisible, mask_of_heads, shard_of, with_fewer_heads
from mhsa_lib.variants.latent import LatentAttention


def parallelize(attention: Any, mesh: DeviceMesh) -> Any:
    """Leave on every rank of ``mesh`` some of the heads; outputs and gradients stay the same.

    Concat then W_O is a sum over heads, so it is a sum over ranks: one all-reduce forward.
    ``x`` enters every rank, so its gradient is a sum over ranks: one all-reduce backward. Every
    rank calls this, then the result, with the same ``x`` and a mask of all heads. Weights are
    those of rank 0. A cache holds the heads of its rank.

    The five stages, also with grouped heads or rotary positions, are changed in place by
    torch's column- and row-parallel styles; their parameters become ``DTensor``. A fused or a
    latent attention is not: its shard is a module of the same class with fewer heads, with both
    sums around it. There ``clip_grad_norm_`` sees the heads of its rank, so add up the squared
    norms of all ranks first, or every rank clips by another factor. Every rank drops weights of
    its own heads: for training with dropout, seed ranks differently.

    Raises ``ValueError``, before anything is changed, where ``divisible`` does and for a mesh
    of several axes. Over one rank, torch 2.5 itself ends in an ``IndexError``.

    >>> import torch.distributed as dist
    >>> from mhsa_lib import MultiHeadAttention
    >>> alone = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    >>> dist.init_process_group("gloo", **alone)  # torchrun tells all but the backend
    >>> mha = parallelize(MultiHeadAttention(12, 4), dist.init_device_mesh("cpu", (1,)))
    >>> mha(torch.randn(6, 12)).shape, type(mha.W_O.weight).__name__
    (torch.Size([6, 12]), 'DTensor')
    >>> dist.destroy_process_group()
    """
    if mesh.ndim != 1:
        raise ValueError(f"mesh has {mesh.ndim} axes; heads are sharded along one, mesh['tp'].")
    divisible(attention, mesh.size())
    if isinstance(attention, FusedMultiHeadAttention | LatentAttention):
        return _parallelize_shard(attention, mesh)
    plan: Any = {f"project.{name}": ColwiseParallel() for name in ("W_Q", "W_K", "W_V")}
    summand = RowwiseParallel(output_layouts=Partial(), use_local_output=False)
    learns = {name: p.requires_grad for name, p in attention.named_parameters()}
    parallelize_module(attention, mesh, plan | {"W_O": summand})
    for name, parameter in attention.named_parameters():  # torch 2.6 thaws what was frozen
        parameter.requires_grad_(learns[name])
    _enter(attention.project, lambda t: DTensor.from_local(t, mesh, [Replicate()]))
    attention.W_O.register_forward_hook(lambda module, args, part: _summed(part))
    divide_masks(attention, mesh, attention.n_heads)
    return with_fewer_heads(attention, mesh.size())


def _parallelize_shard(attention: Any, mesh: DeviceMesh) -> nn.Module:
    for parameter in attention.parameters():
        parameter.data = distribute_tensor(parameter.data, mesh, [Replicate()]).to_local()
    rank = mesh.get_local_rank()
    part = shard_of(attention, rank, mesh.size())
    # What has its full shape here is used for the heads of all ranks, except b_O, see below.
    shapes = {name: parameter.shape for name, parameter in attention.named_parameters()}
    shapes.pop("W_O.bias", None)
    for path, module in part.named_modules():
        own = module.named_parameters(recurse=False)
        sum_gradients(module, mesh, [n for n, p in own if shapes.get(f"{path}.{n}") == p.shape])
    if part.W_O.bias is not None and rank > 0:
        # A buffer, not a frozen parameter: if somebody thawed it, b_O would be learnt twice.
        bias = part.W_O.bias.detach()
        del part.W_O.bias
        part.W_O.register_buffer("bias", bias)
    part.of_ranks = mesh.size()
    divide_masks(part, mesh, attention.n_heads)
    _enter(part, lambda t: _with_summed_gradient(t, mesh))
    part.register_forward_hook(
        lambda module, args, y: _summed(DTensor.from_local(y, mesh, [Partial()]))
    )
    return part


def sum_gradients(module: nn.Module, mesh: DeviceMesh, names: list[str]) -> None:
    """Let parameters that every rank holds whole learn from what they did on all ranks."""
    # The sum is an operation of the graph, made anew in each forward pass. A hook on a
    # Parameter would be lost when ``deepcopy``, ``load_state_dict(assign=True)`` or a thawed
    # parameter puts another object there, and every rank would learn from its own part alone.
    # The module gets a subclass of its own class, so names in its state dict stay.
    if not names:
        return
    kind: Any = type(module)

    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        given = {name: getattr(self, name) for name in names}
        summed = {n: _with_summed_gradient(p, mesh) for n, p in given.items() if p is not None}
        with parameters_replaced(self, summed):
            return kind.forward(self, *args, **kwargs)

    # The mesh is in the closure and not in the module: deepcopy cannot copy a process group.
    module.__class__ = type(kind.__name__, (kind,), {"forward": forward})


def _with_summed_gradient(t: Tensor, mesh: DeviceMesh) -> Tensor:
    """Return the same numbers, whose gradient is the sum of the gradients of all ranks."""
    # Where nothing learns there is nothing to add up, and a DTensor costs microseconds.
    if not (t.requires_grad and torch.is_grad_enabled()):
        return t
    return DTensor.from_local(t, mesh, [Replicate()]).to_local(grad_placements=[Partial()])


def _summed(part: DTensor) -> Tensor:
    # Not by RowwiseParallel itself, whose result may still be on its way when it returns.
    return part.redistribute(part.device_mesh, [Replicate()]).to_local()


def _enter(module: nn.Module, enter: Callable[[Tensor], Tensor]) -> None:
    """Let ``x`` and ``context`` into a module, together if they are one: one sum backward."""

    def change(given: dict[str, Any]) -> None:
        tensors = {n: given[n] for n in ("x", "context") if isinstance(given.get(n), Tensor)}
        # Each once, and in one order: backward the ranks must meet in the same sums.
        entered = {t: enter(t) for t in dict.fromkeys(tensors.values())}
        given.update({name: entered[t] for name, t in tensors.items()})

    _change_inputs(module, change)


def divide_masks(module: nn.Module, mesh: DeviceMesh, n_heads: int) -> None:
    """Give a rank, of a mask that differs between heads, the part of its own heads."""
    n_own = n_heads // mesh.size()
    own = slice(mesh.get_local_rank() * n_own, (mesh.get_local_rank() + 1) * n_own)

    def change(given: dict[str, Any]) -> None:
        given["mask"] = mask_of_heads(given.get("mask"), own, n_heads, given["x"].device)

    _change_inputs(module, change)


def _change_inputs(module: nn.Module, change: Callable[[dict[str, Any]], None]) -> None:
    """Before each call let ``change`` edit the arguments, which it finds by their names."""

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        change(given)
        return (), given

    module.register_forward_pre_hook(hook, with_kwargs=True)
