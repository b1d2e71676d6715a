"""Tensors that a caller passes: tokens, contexts, masks; their type, layout and shape."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def shaped(name: str, given: Any, **sizes: int) -> None:
    """A tensor with exactly these axes.

    >>> shaped("mixing", torch.zeros(3, 5), n_heads=3, d_shared=6)
    Traceback (most recent call last):
    ...
    ValueError: mixing has shape (3, 5), but n_heads=3 and d_shared=6; pass a tensor (3, 6).
    """
    wanted = tuple(sizes.values())
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} is a {type(given).__name__}; pass a tensor {wanted}.")
    if given.shape != wanted:
        axes = " and ".join(f"{axis}={size}" for axis, size in sizes.items())
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, but {axes}; pass a tensor {wanted}."
        )


def tokens(name: str, x: Any, d_model: int, axis: str = "d_model", W: Any = None) -> None:
    """Rows of floating-point numbers, each ``d_model`` wide, of the kind of W's weight.

    ``axis`` is the name of that width. Under autocast the dtype is free, and so it is where W
    shows no weight, as something that is wrapped around a map.

    >>> tokens("x", torch.zeros(2, 5, 8), d_model=12)
    Traceback (most recent call last):
    ...
    ValueError: x is 8 wide, shape (2, 5, 8), but d_model=12; the last axis must be d_model.
    """
    weight = getattr(W, "weight", None)
    like = weight if isinstance(weight, Tensor) else None
    strided = isinstance(x, Tensor) and x.layout is torch.strided and not x.is_nested
    right = strided and x.ndim >= 2 and x.shape[-1] == d_model
    if right and like is not None and x.dtype is like.dtype and x.device == like.device:
        return
    if not isinstance(x, Tensor):
        hint = " (a mask goes by name: mask=…)" if name == "context" else ""
        raise TypeError(
            f"{name} is a {type(x).__name__}; pass a tensor (…, seq, {d_model}){hint}."
        )
    dense(name, x)
    if not x.is_floating_point():
        raise TypeError(
            f"{name} has dtype {x.dtype}; attention needs floating point: "
            f"embed token ids first, or call {name}.float()."
        )
    shape = tuple(x.shape)
    if x.ndim < 2:
        raise ValueError(f"{name} has shape {shape}; it needs at least (seq, {d_model}).")
    if shape[-1] != d_model:
        raise ValueError(
            f"{name} is {shape[-1]} wide, shape {shape}, but {axis}={d_model}; "
            f"the last axis must be {axis}."
        )
    if like is None or (x.dtype, x.device) == (like.dtype, like.device):
        return
    if x.device != like.device or not torch.is_autocast_enabled(x.device.type):
        raise ValueError(
            f"{name} is {x.dtype} on {x.device}, but the weights are {like.dtype} on "
            f"{like.device}; move one of them with .to()."
        )


def dense(name: str, tensor: Tensor) -> None:
    """A tensor in which every number has its place, neither nested nor sparse.

    >>> dense("x", torch.zeros(2, 3).to_sparse())
    Traceback (most recent call last):
    ...
    TypeError: x has the layout torch.sparse_coo; pass a dense tensor: x.to_dense().
    """
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
    """``x`` and ``context`` agree in every leading axis.

    >>> same_batch(torch.zeros(2, 5, 8), torch.zeros(3, 7, 8))
    Traceback (most recent call last):
    ...
    ValueError: x has leading axes (2,) but context has (3,); give both the same batch.
    """
    if x.shape[:-2] != context.shape[:-2]:
        raise ValueError(
            f"x has leading axes {tuple(x.shape[:-2])} but context has "
            f"{tuple(context.shape[:-2])}; give both the same batch."
        )


def reads(project: Any, d_context: int | None) -> None:
    """A ``project`` that was passed reads contexts of the width that was asked for.

    >>> reads(torch.nn.Identity(), d_context=8)
    Traceback (most recent call last):
    ...
    ValueError: d_context=8, but project=Identity reads contexts of another width; leave ...
    """
    if d_context is not None and getattr(project, "d_context", None) != d_context:
        raise ValueError(
            f"d_context={d_context}, but project={type(project).__name__} reads contexts of "
            f"another width; leave d_context out, or pass a project that is made for it."
        )


def no_context(x: Tensor, context: Tensor | None) -> None:
    """With a cache only ``x`` may be given, or itself as its context.

    >>> no_context(torch.zeros(2, 8), torch.zeros(3, 8))
    Traceback (most recent call last):
    ...
    ValueError: a cache grows with x, but a context was given; keys of a fixed context ...
    """
    if context is not None and context is not x:
        raise ValueError(
            "a cache grows with x, but a context was given; keys of a fixed context do not "
            "change: compute them once, without a cache."
        )


def sees_no_future(mask: Any, n_tokens: int) -> None:
    """Several tokens that come through a cache at once need a mask.

    >>> sees_no_future(None, n_tokens=3)
    Traceback (most recent call last):
    ...
    ValueError: 3 tokens came through a cache at once with mask=None, so each would ...
    """
    if mask is None and n_tokens > 1:
        raise ValueError(
            f"{n_tokens} tokens came through a cache at once with mask=None, so each would "
            f"attend to later ones, which it cannot when it comes alone; pass "
            f"mask=masks.causal, or one token at a time."
        )


def boolean(mask: Any) -> None:
    """A mask is a boolean tensor, True where a query may look.

    >>> boolean(torch.zeros(3, 3))
    Traceback (most recent call last):
    ...
    TypeError: mask has dtype torch.float32, not bool; True means "may look". ...
    """
    if not isinstance(mask, Tensor):
        raise TypeError(
            f"mask is a {type(mask).__name__}; "
            f"pass a bool tensor or a predicate of mhsa_lib.masks."
        )
    dense("mask", mask)
    if mask.dtype is not torch.bool:
        raise TypeError(
            f'mask has dtype {mask.dtype}, not bool; True means "may look". '
            f"For numbers 0/1 use mask.bool(), "
            f"for an additive mask of 0 and -inf masks.from_additive(mask)."
        )


def mask_fits(mask: Tensor, shape: Sequence[int]) -> None:
    """The mask broadcasts to the scores, (batch, head, query, key), without enlarging them.

    >>> mask_fits(torch.ones(2, 7, dtype=torch.bool), (2, 4, 5, 7))
    Traceback (most recent call last):
    ...
    ValueError: mask (2, 7) does not fit scores (2, 4, 5, 7), ...
    """
    given, wanted = tuple(mask.shape), tuple(shape)
    last = wanted[len(wanted) - len(given) :]  # both to one length: torch 2.5 compiles no other
    fits = len(given) <= len(wanted) and all(
        size in (1, room) for size, room in zip(given, last, strict=True)
    )
    if fits:
        return
    repair = "axes are aligned from the right, each must be equal or 1"
    if len(wanted) == 4 and given == (wanted[0], wanted[3]):
        repair = "for one row of keys per sequence use mask[:, None, None, :]"
    elif len(wanted) == 4 and given == (wanted[0], *wanted[2:]):
        repair = "for one mask per sequence use mask[:, None]"
    raise ValueError(
        f"mask {given} does not fit scores {wanted}, "
        f"which are (batch, head, query, key); {repair}."
    )


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def lengths(given: Any) -> Tensor:
    """Whole numbers, one for each sequence of a batch, none below 0: a list, array or tensor.

    >>> lengths([3, -1])
    Traceback (most recent call last):
    ...
    ValueError: lengths=[3, -1] holds a negative length; the least is 0.
    """
    words = f"lengths are whole numbers, one per sequence, not {given!r}; say [3, 4]."
    try:
        # On a CPU even under a default device that holds no numbers, such as meta.
        ends = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(words) from error
    if ends.dtype not in _INTEGERS or ends.ndim == 0 or ends.is_meta:
        raise TypeError(words)
    if (ends < 0).any():
        raise ValueError(f"lengths={ends.tolist()} holds a negative length; the least is 0.")
    return ends
