"""Heads on several devices: every rank keeps some heads, and one sum joins them.

W_Q, W_K and W_V are cut between their columns, W_O between its rows (``shard_of``). Concat then
W_O is a sum over heads, so it is a sum over ranks: one all-reduce forward. ``x`` enters every
rank, so its gradient is a sum over ranks: one all-reduce backward. Between the two, nobody
waits for anybody.

Source: Shoeybi et al., "Megatron-LM", section 3, arXiv 1909.08053.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.parallel.one_rank import (
    divisible,
    narrowed,
    not_sharded,
    shard_of,
    with_fewer_heads,
)
from mhsa_lib.variants.latent import LatentAttention


def parallelize(attention: Any, mesh: DeviceMesh) -> Any:
    """Leave on every rank of ``mesh`` its shard: some of the heads; outputs and gradients stay.

    Every rank calls this, then the result, with the same ``x``. Weights are those of rank 0.

    The five stages, also with grouped heads or rotary positions, are changed in place by
    torch's column- and row-parallel styles; their parameters become ``DTensor``. A fused
    attention is not: its kernels take its weights as they are, and a plain cut through the
    packed W_QKV would give the first of two ranks all queries and half of the keys. Its
    shard is a fused attention with fewer heads, with both sums at its door; of its ``b_O`` the
    one on rank 0 counts and learns. A latent attention is cut in the same way, and what makes
    its latents is whole on every rank, so its gradients are added up too.

    A mask is that of all heads. A cache holds the heads of its rank. Every rank drops weights
    of its own heads: for training with dropout, seed ranks differently. ``clip_grad_norm_``
    sees all heads where parameters are ``DTensor``; of a fused shard it sees those of its rank,
    so add up the squared norms of all ranks first, or every rank clips by another factor.
    Raises ``ValueError``, before anything is changed, where ``divisible`` does, for a mesh of
    several axes, and for an attention that is sharded already. Over one rank, torch 2.5 itself
    ends in an ``IndexError``; 2.6 and later do not.

    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention
    >>> from mhsa_lib.parallel.process_group import process_group
    >>> with process_group() as mesh:
    ...     mha = parallelize(MultiHeadAttention(12, 4), mesh)
    ...     y = mha(torch.randn(6, 12, device=mesh.device_type))
    ...     y.shape, type(mha.W_O.weight).__name__
    (torch.Size([6, 12]), 'DTensor')
    """
    if mesh.ndim != 1:
        raise ValueError(f"mesh has {mesh.ndim} axes; heads are sharded along one, mesh['tp'].")
    not_sharded(attention)
    if isinstance(attention, FusedMultiHeadAttention):
        divisible(attention.to_attention(), mesh.size())
        return _parallelize_shard(attention, mesh)
    divisible(attention, mesh.size())
    if isinstance(attention, LatentAttention):
        return _parallelize_shard(attention, mesh)
    plan: Any = {f"project.{name}": ColwiseParallel() for name in ("W_Q", "W_K", "W_V")}
    summand = RowwiseParallel(output_layouts=Partial(), use_local_output=False)
    learns = {name: p.requires_grad for name, p in attention.named_parameters()}
    parallelize_module(attention, mesh, plan | {"W_O": summand})
    for name, parameter in attention.named_parameters():  # torch 2.6 thaws what was frozen
        parameter.requires_grad_(learns[name])
    _enter(attention.project, lambda t: DTensor.from_local(t, mesh, [Replicate()]))
    attention.W_O.register_forward_hook(_summed)
    enter_own_masks(attention, mesh, attention.n_heads)
    return with_fewer_heads(attention, mesh.size())


def _parallelize_shard(attention: Any, mesh: DeviceMesh) -> nn.Module:
    """Some of the heads as an attention of their own, with both sums at its door."""
    for parameter in attention.parameters():
        parameter.data = distribute_tensor(parameter.data, mesh, [Replicate()]).to_local()
    rank = mesh.get_local_rank()
    part = shard_of(attention, rank, mesh.size())
    for (name, old), new in zip(attention.named_parameters(), part.parameters(), strict=True):
        new.requires_grad_(old.requires_grad and (name != "W_O.bias" or rank == 0))
        if new.shape == old.shape and name != "W_O.bias" and new.requires_grad:
            add_up_gradients(new, mesh)  # whole on every rank, used for the heads of each

    def enter(t: Tensor) -> Tensor:
        same = DTensor.from_local(t, mesh, [Replicate()])
        return same.to_local(grad_placements=[Partial()])

    def leave(module: nn.Module, args: tuple[Any, ...], y: Tensor) -> Tensor:
        return _summed(module, args, DTensor.from_local(y, mesh, [Partial()]))

    part.of_ranks = mesh.size()
    enter_own_masks(part, mesh, attention.n_heads)
    _enter(part, enter)
    part.register_forward_hook(leave)
    return part


def add_up_gradients(parameter: nn.Parameter, mesh: DeviceMesh) -> None:
    """Let a parameter that every rank holds learn from what it did on all of them."""

    def total(part: Tensor) -> Tensor:
        return DTensor.from_local(part, mesh, [Partial()]).full_tensor()

    parameter.register_hook(total)


def _summed(module: nn.Module, args: tuple[Any, ...], part: DTensor) -> Tensor:
    """The sum of what all ranks have; it is there when this returns."""
    return part.redistribute(part.device_mesh, [Replicate()]).to_local()


def _enter(module: nn.Module, enter: Callable[[Tensor], Tensor]) -> None:
    """Let ``x`` and ``context`` into a module, together if they are one: one sum backward."""

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        entered: dict[int, Tensor] = {}
        for name in ("x", "context"):
            if isinstance(t := given.get(name), Tensor):
                if id(t) not in entered:
                    entered[id(t)] = enter(t)
                given[name] = entered[id(t)]
        return (), given

    module.register_forward_pre_hook(hook, with_kwargs=True)


def enter_own_masks(module: nn.Module, mesh: DeviceMesh, n_heads: int) -> None:
    """Let a mask that tells all heads apart say to the heads of a rank what it says to them."""
    n_own = n_heads // mesh.size()
    first = mesh.get_local_rank() * n_own

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        own = slice(first, first + n_own)
        given["mask"] = narrowed(given.get("mask"), own, n_heads, given["x"].device)
        return (), given

    module.register_forward_pre_hook(hook, with_kwargs=True)
