"""What a caller may pass: errors that name the values, the rule and a repair.

Everything is checked here, once, so that the mathematics stays free of it. A mistake in a type
raises ``TypeError``, one in a value ``ValueError``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def positive(**sizes: int) -> None:
    """Sizes are whole numbers of at least one."""
    for name, size in sizes.items():
        # torch.jit.trace finds sizes as tensors. In Python True is an int, n_heads=True a slip.
        traced = isinstance(size, Tensor) and torch.jit.is_tracing()
        if isinstance(size, bool) or not (traced or isinstance(size, int)):
            raise TypeError(f"{name}={size!r} is not a whole number; pass an int.")
        if size < 1:
            raise ValueError(f"{name}={size} is not a size; it must be at least 1.")


def probability(**values: float) -> None:
    """A dropout probability is in [0, 1)."""
    for name, value in values.items():
        # NaN is refused too: no comparison with it is true.
        if not 0 <= value < 1:
            raise ValueError(
                f"{name}={value} is not a probability; it must be at least 0 and less than 1."
            )


def head_width(d_model: int, n_heads: int, d_head: int | None = None) -> int:
    """Width of a head: as given, or ``d_model / n_heads`` when that is a whole number.

    >>> head_width(d_model=12, n_heads=3), head_width(d_model=10, n_heads=4, d_head=7)
    (4, 7)
    """
    positive(d_model=d_model, n_heads=n_heads)
    if d_head is not None:
        positive(d_head=d_head)
        return d_head
    if d_model % n_heads:
        # The two nearest widths that would do; below the first multiple there is only one.
        below = d_model // n_heads * n_heads
        near = " or ".join(f"d_model={size}" for size in (below, below + n_heads) if size)
        raise ValueError(
            f"n_heads={n_heads} does not divide d_model={d_model}; try {near}, or set d_head."
        )
    return d_model // n_heads


def divides(**sizes: int) -> int:
    """Quotient of two named sizes, the larger first.

    >>> divides(d_heads=12, n_heads=3)
    4
    """
    positive(**sizes)
    (whole, size), (part, count) = sizes.items()
    if size % count:
        # The repair names the nearest divisors on both sides; 1 and the size itself always are.
        divisors = [n for n in range(1, size + 1) if size % n == 0]
        near = [n for n in divisors if n < count][-1:] + [n for n in divisors if n > count][:1]
        options = " or ".join(f"{part}={n}" for n in near)
        raise ValueError(f"{part}={count} does not divide {whole}={size}; try {options}.")
    return size // count


def heads(keep: Any, n_heads: int) -> list[int]:
    """Numbers of some heads, each once: a list, range, set, array or tensor, in any order.

    >>> heads({2, 0}, n_heads=3)
    [0, 2]
    """
    given = getattr(keep, "tolist", lambda: keep)()
    given = list(given) if isinstance(given, Iterable) else given  # no tensor is made of a set
    named = whole_numbers("heads to keep", "one for each", given, "[0, 1]").tolist()
    if not named or any(h not in range(n_heads) or named.count(h) > 1 for h in named):
        raise ValueError(
            f"keep={given} does not name heads of 0 to {n_heads - 1}, each once; pass the "
            f"numbers of one or more of them, also for the last ones."
        )
    return sorted(named)


def pairs(**widths: int) -> None:
    """Dimensions that rotate in pairs: an even number of them, or none."""
    for name, width in widths.items():
        if width != 0:
            positive(**{name: width})
        if width % 2:
            raise ValueError(
                f"{name}={width} is odd; dimensions rotate in pairs, try {name}={width + 1}, "
                f"or 0 for none."
            )


def few(names: Sequence[str]) -> str:
    """Three names at most, and how many more: an error is to be read.

    >>> few(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def shaped(name: str, given: Any, **sizes: int) -> None:
    """A tensor with exactly these axes."""
    wanted = tuple(sizes.values())
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} is a {type(given).__name__}; pass a tensor {wanted}.")
    if given.shape != wanted:
        axes = " and ".join(f"{axis}={size}" for axis, size in sizes.items())
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, but {axes}; pass a tensor {wanted}."
        )


_BY_NAME = " (a mask goes by name: mask=…)"


def tokens(name: str, x: Any, d_model: int, axis: str = "d_model", W: Any = None) -> None:
    """Rows of floating-point numbers, each ``d_model`` wide, of the dtype and device of W.

    ``axis`` is the name of that width. The dtype is free under autocast, and where W computes
    with something other than its weight.
    """
    if not isinstance(x, Tensor):
        hint, kind = _BY_NAME if name == "context" else "", type(x).__name__
        if isinstance(x, torch.fx.Proxy):
            hint = "; torch.fx.symbolic_trace has none, use torch.export.export"
        raise TypeError(f"{name} is a {kind}; pass a tensor (…, seq, {d_model}){hint}.")
    dense(name, x)
    if not x.is_floating_point():
        hint = _BY_NAME if x.dtype is torch.bool else ""
        raise TypeError(
            f"{name} has dtype {x.dtype}; attention needs floating point: "
            f"embed token ids first, or call {name}.float(){hint}."
        )
    if x.ndim < 2:
        shape = tuple(x.shape)
        raise ValueError(f"{name} has shape {shape}; it needs at least (seq, {d_model}).")
    if x.shape[-1] != d_model:
        raise ValueError(
            f"{name} is {x.shape[-1]} wide, shape {tuple(x.shape)}, but {axis}={d_model}; "
            f"the last axis must be {axis}."
        )
    weight = _weight_of(W)
    # Under autocast both are cast before they meet, but only on one device.
    if weight is None or (x.dtype is weight.dtype and x.device == weight.device):
        return
    if x.device != weight.device or not torch.is_autocast_enabled(x.device.type):
        raise ValueError(
            f"{name} is {x.dtype} on {x.device}, but the weights are {weight.dtype} on "
            f"{weight.device}; move one of them with .to()."
        )


def _weight_of(W: Any) -> Tensor | None:
    """The weight that a plain linear map multiplies with; None where it may be another."""
    # Offloading keeps weights on meta until the call, quantisation stores 8 bits, and a sharded
    # or wrapped map casts or gathers its parameters first: only the map knows what it accepts.
    ours = isinstance(W, nn.Linear) and type(W).__module__.partition(".")[0] == "mhsa_lib"
    if not (type(W) is nn.Linear or ours) or "forward" in vars(W):
        return None
    weight = W.weight
    plain = type(weight) in (nn.Parameter, Tensor) and not weight.is_meta
    return weight if plain and weight.is_floating_point() and weight.itemsize > 1 else None


def dense(name: str, tensor: Tensor) -> None:
    """Raise TypeError for a nested or a sparse tensor, in which not every number is stored."""
    if tensor.is_nested:
        raise TypeError(
            f"{name} is a nested tensor; pass a dense one, {name}.to_padded_tensor(0.0), and "
            f"the lengths as mask, masks.padding(lengths)."
        )
    if tensor.layout is not torch.strided:
        raise TypeError(
            f"{name} has the layout {tensor.layout}; pass a dense tensor: {name}.to_dense()."
        )


def same_batch(x: Tensor, context: Tensor) -> None:
    """``x`` and ``context`` agree in every leading axis."""
    if x.shape[:-2] != context.shape[:-2]:
        raise ValueError(
            f"x has leading axes {tuple(x.shape[:-2])} but context has "
            f"{tuple(context.shape[:-2])}; give both the same batch."
        )


def reads(project: Any, d_context: int | None) -> None:
    """A ``project`` that was passed reads contexts of the width that was asked for."""
    # A width that is passed next to a project would otherwise be ignored in silence.
    if d_context is not None and getattr(project, "d_context", None) != d_context:
        raise ValueError(
            f"d_context={d_context}, but project={type(project).__name__} reads contexts of "
            f"another width; leave d_context out, or pass a project that is made for it."
        )


def a_cache(cache: Any) -> None:
    """What goes on with earlier tokens is a ``KVCache``."""
    if not hasattr(type(cache), "begin"):
        kind = type(cache).__name__
        raise TypeError(f"cache is a {kind}; pass a KVCache by name: cache=…{_BY_NAME}.")


def no_context(x: Tensor, context: Tensor | None) -> None:
    """With a cache only ``x`` may be given, or itself as its context."""
    if context is not None and context is not x:
        raise ValueError(
            "a cache grows with x, but a context was given; keys of a fixed context do not "
            "change: compute them once, without a cache."
        )


def boolean(mask: Any) -> None:
    """A mask is a boolean tensor, True where a query may attend."""
    if not isinstance(mask, Tensor):
        kind = type(mask).__name__
        raise TypeError(
            f"mask is a {kind}; pass a bool tensor or a predicate of mhsa_lib.masks."
        )
    dense("mask", mask)
    # No number is read as a choice, because 0 means "may attend" in an additive mask and
    # "may not" in one of 0 and 1.
    if mask.dtype is not torch.bool:
        raise TypeError(
            f'mask has dtype {mask.dtype}, not bool; True means "may attend". For numbers 0/1 '
            f"use mask.bool(), for an additive mask of 0 and -inf masks.from_additive(mask). "
            f"Keys and values are made from the context, attention(x, context, mask)."
        )


def mask_fits(mask: Tensor, shape: Sequence[int]) -> None:
    """The mask broadcasts to the scores, (batch, head, query, key), without enlarging them."""
    given, wanted = tuple(mask.shape), tuple(shape)
    # Axes are aligned from the right, so those that are missing on the left count as 1.
    padded = (1,) * (len(wanted) - len(given)) + given
    if len(padded) == len(wanted) and all(
        size in (1, room) for size, room in zip(padded, wanted, strict=True)
    ):
        return
    # The two shapes that people most often mean get a repair of their own.
    repair = "axes are aligned from the right, each must be equal or 1"
    if len(wanted) == 4 and given == (wanted[0], wanted[3]):
        repair = "for one row of keys per sequence use mask[:, None, None, :]"
    elif len(wanted) == 4 and given == (wanted[0], *wanted[2:]):
        repair = "for one mask per sequence use mask[:, None]"
    raise ValueError(
        f"mask {given} does not fit scores {wanted}, which are (batch, head, query, key); "
        f"{repair}."
    )


def whole_numbers(name: str, one_each: str, given: Any, example: str) -> Tensor:
    """Integers, one for each of something: a list, an array or a tensor."""
    numbers, cause = given, None
    try:
        # On a CPU even under a default device that holds no numbers, such as meta.
        if not isinstance(given, Tensor):
            numbers = torch.as_tensor(given, device="cpu")
            # torch takes an empty list for one of floating point.
            numbers = numbers if numbers.numel() else numbers.long()
    except (TypeError, ValueError, RuntimeError) as error:
        numbers, cause = torch.empty(()), error
    integers = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    # In Python True is an int, and torch makes 1 of it among numbers.
    true = isinstance(given, list | tuple) and any(isinstance(n, bool) for n in given)
    if true or numbers.dtype not in integers or numbers.ndim == 0 or numbers.is_meta:
        # Only now, because a tensor of a recorded program cannot be put into words.
        raise TypeError(
            f"{name} are whole numbers, {one_each}, not {given!r}; say {example}."
        ) from cause
    return numbers
