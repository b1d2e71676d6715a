"""How far ranks are from one process, with what each holds and what they say to each other."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.parallel.one_rank import shard_of
from mhsa_lib.tracing.op_recorder import Op, align, trace_ops
from mhsa_lib.tracing.wires import trace

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}
ALL_TO_ALL = "all_to_all_single"
COLLECTIVES = (
    *("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "broadcast"),
    ALL_TO_ALL,
)


@dataclass(frozen=True)
class Rank:
    """What one rank found: shapes as (one process, this rank), and largest differences."""

    title: str
    tolerance: float
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    said: dict[str, list[Op]]
    differences: dict[str, float]

    @property
    def differs(self) -> bool:
        """Whether an output or a gradient is not that of one process."""
        return not all(far <= self.tolerance for far in self.differences.values())


class Cut(NamedTuple):
    """Of (tensor of tokens or whole attention, rank, ranks) what a rank is given, or learns."""

    tokens: Callable[[Tensor, int, int], Tensor]
    gradients: Callable[[Any, int, int], dict[str, Tensor]]


def compare(
    whole: Any, divided: Any, x: Tensor, leave_out: str | None = None, cut: Cut | None = None
) -> Rank:
    """Run both forward and backward on the same ``x``, in this process as one of its group.

    ``leave_out`` is "forward" or "backward": there every all-reduce then does nothing. ``cut``
    is ``BY_HEADS`` when not given.
    """
    cut, ranks, rank = cut or BY_HEADS, dist.get_world_size(), dist.get_rank()

    def own(t: Any) -> Any:
        return cut.tokens(t, rank, ranks)

    seen, here = x.clone().requires_grad_(), own(x).clone().requires_grad_()
    with _wires(whole) as one, _wires(divided) as other:
        out = whole(seen)
        y, forward = _collectives_of(SkippedAllReduce(leave_out == "forward"), divided, here)
    towards = torch.linspace(-1, 1, out.numel(), dtype=x.dtype, device=x.device).view_as(out)
    out.backward(towards)
    _, backward = _collectives_of(
        SkippedAllReduce(leave_out == "backward"), y.backward, own(towards)
    )
    differences = {"output": far(y, own(out)), "gradient of x": far(here.grad, own(seen.grad))}
    wanted = cut.gradients(whole, rank, ranks)
    held = dict(divided.named_buffers()) | dict(divided.named_parameters())
    learned = {name: local(p.grad) for name, p in held.items() if p.grad is not None}
    differences |= {name: far(grad, wanted[name]) for name, grad in learned.items()}
    shapes = {name: (p.shape, local(held[name]).shape) for name, p in whole.named_parameters()}
    shapes |= {name: (one[name].shape, other[name].shape) for name in one}
    return Rank(
        f"{type(whole).__name__}, n_heads={whole.n_heads}, {str(x.dtype)[6:]}, "
        f"{counted(ranks)}, {dist.get_backend()}",
        TOLERANCE[x.dtype],
        {name: (tuple(both), tuple(each)) for name, (both, each) in shapes.items()},
        {"forward": forward, "backward": backward},
        differences,
    )


def gradients(whole: Any, rank: int, ranks: int) -> dict[str, Tensor]:
    """The gradients of one process, cut as the weights of a rank are."""
    found = deepcopy(whole)
    with torch.no_grad():
        for old, new in zip(whole.parameters(), found.parameters(), strict=True):
            new.copy_(old.grad)
    cut = {name: p.detach() for name, p in shard_of(found, rank, ranks).named_parameters()}
    if whole.W_O.bias is not None:
        cut["W_O.bias"] = whole.W_O.bias.grad
    return cut


def all_gradients(whole: Any, rank: int, ranks: int) -> dict[str, Tensor]:
    """The gradients of one process, for a rank that holds all weights."""
    return {name: p.grad for name, p in whole.named_parameters()}


BY_HEADS = Cut(tokens=lambda t, rank, ranks: t, gradients=gradients)
BY_TOKENS = Cut(
    tokens=lambda t, rank, ranks: t.chunk(ranks, dim=-2)[rank], gradients=all_gradients
)


def collectives(ops: Sequence[Op]) -> list[Op]:
    """Those operations in which ranks exchange numbers.

    >>> collectives(trace_ops(torch.zeros, 3))
    []
    """
    return [op for op in ops if op.name in COLLECTIVES]


def sent(size: int, ranks: int) -> float:
    """Bytes that each rank sends to all-reduce ``size`` bytes around a ring.

    Every rank sends a part of size / ranks to its neighbour, ranks - 1 times to add up, and
    ranks - 1 times to hand round what was added.

    >>> sent(1152, ranks=2), sent(1152, ranks=8)
    (1152.0, 2016.0)
    """
    return 2 * (ranks - 1) / ranks * size


def sent_by(op: Op, ranks: int) -> float:
    """Bytes that each rank sends in a collective; in an all-to-all it keeps its own part.

    >>> sent_by(Op(ALL_TO_ALL, (), (), "new memory", 1152, 0), ranks=8)
    1008.0
    """
    return sent(op.bytes, ranks) / (2 if op.name == ALL_TO_ALL else 1)


def local(t: Any) -> Tensor:
    """The part of a tensor that this rank holds."""
    return t.to_local() if hasattr(t, "to_local") else t


def far(a: Any, b: Any) -> float:
    """The largest difference of two tensors."""
    return (a - b).abs().max().item()


def gathered(here: Rank) -> list[Rank]:
    """What every rank found, on every rank."""
    everywhere: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, here)
    return everywhere


def text(everywhere: Sequence[Rank]) -> str:
    """Three tables: who holds what, what was said, and what differs from one process."""
    first, ranks = everywhere[0], len(everywhere)
    held = [("", "one process", *(f"rank {rank}" for rank in range(ranks)))]
    for name, (whole, _) in first.shapes.items():
        if not name.endswith(".bias"):
            parts = (str(rank.shapes[name][1]) for rank in everywhere)
            held.append((_short(name), str(whole), *parts))
    said = [("collective", "pass", "shape", "bytes", "bytes a rank sends")]
    for when, ops in first.said.items():
        for op in ops:
            each = f"{sent_by(op, ranks):,.0f}"
            said.append((op.name, when, str(op.shape), f"{op.bytes:,}", each))
    differ = [("differs from one process by", "")]
    for name, names in _groups(first.differences).items():
        worst = max(rank.differences.get(n, 0.0) for rank in everywhere for n in names)
        small = worst <= first.tolerance
        differ.append((name, f"less than {first.tolerance:g}" if small else f"{worst:.2g}"))
    talk = align(said, right=(3, 4)) if len(said) > 1 else "no collective"
    tables = align(held), talk, align(differ)
    return "\n\n".join([first.title, *tables])


def counted(ranks: int) -> str:
    """The number with its noun.

    >>> counted(1), counted(2)
    ('1 rank', '2 ranks')
    """
    return f"{ranks} rank" + "s" * (ranks != 1)


class SkippedAllReduce(TorchDispatchMode):
    """If it is to ``skip``, an all-reduce inside gives back what this rank had."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.skip = skip

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as in ops: do not import the compiler first

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if any(hasattr(kind, "to_local") for kind in types):
            return NotImplemented  # a DTensor: wait for what it does on this device
        if self.skip and func.__name__.split(".")[0] == "all_reduce":
            return args[0].clone()
        return func(*args, **(kwargs or {}))


def _wires(attention: Any) -> Any:
    """All wires of the stages; of a fused attention none."""
    fused = isinstance(attention, FusedMultiHeadAttention)
    return nullcontext({}) if fused else trace(attention)


def _collectives_of(
    mode: SkippedAllReduce, fn: Callable[..., Any], *args: Any
) -> tuple[Any, list[Op]]:
    """What a function returns, and the collectives it took part in."""
    returned: list[Any] = []

    def call() -> None:
        with mode:
            returned.append(fn(*args))

    ops = trace_ops(call)
    return returned[0], collectives(ops)


def _groups(differences: Mapping[str, float]) -> dict[str, list[str]]:
    """The differences of all parameters in one line."""
    groups: dict[str, list[str]] = {}
    for name in differences:
        is_parameter = name.endswith((".weight", ".bias"))
        groups.setdefault("gradients of parameters" if is_parameter else name, []).append(name)
    return groups


def _short(name: str) -> str:
    return name.removeprefix("project.").removesuffix(".weight")
