"""What a caller may pass: errors that name the values, the rule and a repair.

Everything is checked here, once, so that the mathematics stays free of it. A mistake in a type
raises ``TypeError``, one in a value ``ValueError``.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

# --- numbers ------------------------------------------------------------------------------


def positive(**sizes: int) -> None:
    """Sizes are whole numbers of at least one.

    >>> positive(d_model=12, n_heads=0)
    Traceback (most recent call last):
    ...
    ValueError: n_heads=0 is not a size; it must be at least 1.
    """
    for name, size in sizes.items():
        # In Python True is an int, and n_heads=True a slip.
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{name}={size!r} is not a whole number; pass an int.")
        if size < 1:
            raise ValueError(f"{name}={size} is not a size; it must be at least 1.")


def probability(**values: float) -> None:
    """A dropout probability is in [0, 1).

    >>> probability(dropout=1.5)
    Traceback (most recent call last):
    ...
    ValueError: dropout=1.5 is not a probability; it must be at least 0 and less than 1.
    """
    for name, value in values.items():
        # NaN is refused too: no comparison with it is true.
        if not 0 <= value < 1:
            raise ValueError(
                f"{name}={value} is not a probability; it must be at least 0 and less than 1."
            )


def head_width(d_model: int, n_heads: int, d_head: int | None = None) -> int:
    """Width of a head: as given, or ``d_model / n_heads`` when that is a whole number.

    >>> head_width(d_model=10, n_heads=4)
    Traceback (most recent call last):
    ...
    ValueError: n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12, or set ...
    """
    positive(d_model=d_model, n_heads=n_heads)
    if d_head is not None:
        positive(d_head=d_head)
        return d_head
    if d_model % n_heads:
        # The two nearest widths that would do; below the first multiple there is only one.
        below, above = d_model - d_model % n_heads, d_model + -d_model % n_heads
        options = " or ".join(f"d_model={size}" for size in (below, above) if size)
        wrong = f"n_heads={n_heads} does not divide d_model={d_model}"
        raise ValueError(f"{wrong}; try {options}, or set d_head.")
    return d_model // n_heads


def divides(**sizes: int) -> int:
    """Quotient of two named sizes, the larger first.

    >>> divides(d_heads=12, n_heads=3)
    4
    >>> divides(n_heads=32, n_kv_heads=5)
    Traceback (most recent call last):
    ...
    ValueError: n_kv_heads=5 does not divide n_heads=32; try n_kv_heads=4 or n_kv_heads=8.
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
    >>> heads([2, 3], n_heads=3)
    Traceback (most recent call last):
    ...
    ValueError: keep=[2, 3] names head 3, but n_heads=3, so heads are 0 to 2; pass numbers ...
    """
    given = getattr(keep, "tolist", lambda: keep)()
    if not hasattr(given, "__iter__"):
        raise TypeError(f"keep={given!r} is no list of heads; pass their numbers, [0, 1], say.")
    given = list(given)
    # Numbers of NumPy and of torch become Python's; only then is a bool told from an int.
    named = [getattr(head, "tolist", lambda head=head: head)() for head in given]
    for head in named:
        if isinstance(head, bool):
            raise TypeError(
                f"keep={given} says yes or no where it should name heads; pass the numbers of "
                f"those to keep (of a tensor, keep.nonzero().flatten())."
            )
        if not hasattr(head, "__index__"):
            raise TypeError(
                f"keep={given} holds {head!r}, which is no whole number; pass numbers of heads."
            )
    if not named:
        raise ValueError(
            f"keep={named} leaves no head; keep at least one of 0 to {n_heads - 1}."
        )
    for head in named:
        if not 0 <= head < n_heads:
            raise ValueError(
                f"keep={named} names head {head}, but n_heads={n_heads}, so heads are 0 to "
                f"{n_heads - 1}; pass numbers of these, also for the last ones."
            )
        if named.count(head) > 1:
            raise ValueError(f"keep={named} names head {head} twice; name each head once.")
    return sorted(named)


def pairs(**widths: int) -> None:
    """Dimensions that rotate in pairs: an even number of them, or none.

    >>> pairs(d_rope=3)
    Traceback (most recent call last):
    ...
    ValueError: d_rope=3 is odd; dimensions rotate in pairs, try d_rope=4, or 0 for none.
    """
    for name, width in widths.items():
        if width != 0:
            positive(**{name: width})
        if width % 2:
            raise ValueError(
                f"{name}={width} is odd; dimensions rotate in pairs, try {name}={width + 1}, "
                f"or 0 for none."
            )


def no_wider_than_the_model(d_model: int, **latents: int) -> None:
    """A latent compresses a token: it has no more dimensions.

    >>> no_wider_than_the_model(d_model=12, d_latent=16)
    Traceback (most recent call last):
    ...
    ValueError: d_latent=16 is wider than d_model=12; a latent has at most 12 dimensions.
    """
    positive(d_model=d_model, **latents)
    for name, width in latents.items():
        if width > d_model:
            wrong = f"{name}={width} is wider than d_model={d_model}"
            raise ValueError(f"{wrong}; a latent has at most {d_model} dimensions.")


# --- tensors ------------------------------------------------------------------------------


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
    """Rows of floating-point numbers, each ``d_model`` wide, of the dtype and device of W.

    ``axis`` is the name of that width. The dtype is free under autocast, and where W computes
    with something other than its weight.

    >>> tokens("x", torch.zeros(2, 5, 8), d_model=12)
    Traceback (most recent call last):
    ...
    ValueError: x is 8 wide, shape (2, 5, 8), but d_model=12; the last axis must be d_model.
    """
    if not isinstance(x, Tensor):
        hint = " (a mask goes by name: mask=…)" if name == "context" else ""
        kind = type(x).__name__
        raise TypeError(f"{name} is a {kind}; pass a tensor (…, seq, {d_model}){hint}.")
    dense(name, x)
    if not x.is_floating_point():
        raise TypeError(
            f"{name} has dtype {x.dtype}; attention needs floating point: "
            f"embed token ids first, or call {name}.float()."
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
    """The weight that a plain linear map multiplies with; None where it may be another.

    Offloading keeps weights on ``meta`` until the call, quantisation stores 8 bits, and a
    sharded or wrapped map shows parameters that it casts or gathers first. What such a map
    accepts only the map itself knows.
    """
    ours = isinstance(W, nn.Linear) and type(W).__module__.startswith("mhsa_lib.")
    if not (type(W) is nn.Linear or ours) or "forward" in vars(W):
        return None
    weight = W.weight
    if type(weight) not in (nn.Parameter, Tensor) or weight.is_meta:
        return None
    return weight if weight.is_floating_point() and weight.dtype.itemsize > 1 else None


def dense(name: str, tensor: Tensor) -> None:
    """Raise TypeError for a nested or a sparse tensor, in which not every number is stored.

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
    # A width that is passed next to a project would otherwise be ignored in silence.
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
    # One token alone attends to all that is cached, which is the causal mask's last row.
    if mask is None and n_tokens > 1:
        raise ValueError(
            f"{n_tokens} tokens came through a cache at once with mask=None, so each would "
            f"attend to later ones, which it cannot when it comes alone; pass "
            f"mask=masks.causal, or one token at a time."
        )


def boolean(mask: Any) -> None:
    """A mask is a boolean tensor, True where a query may attend.

    >>> boolean(torch.zeros(3, 3))
    Traceback (most recent call last):
    ...
    TypeError: mask has dtype torch.float32, not bool; True means "may attend". ...
    """
    if not isinstance(mask, Tensor):
        repair = "pass a bool tensor or a predicate of mhsa_lib.masks"
        raise TypeError(f"mask is a {type(mask).__name__}; {repair}.")
    dense("mask", mask)
    if mask.dtype is not torch.bool:
        raise TypeError(
            f'mask has dtype {mask.dtype}, not bool; True means "may attend". '
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
    # Both to one length, because torch 2.5 cannot compile a zip that ends with the shorter.
    last = wanted[len(wanted) - len(given) :]
    if len(given) <= len(wanted) and all(
        size in (1, room) for size, room in zip(given, last, strict=True)
    ):
        return
    # The two shapes that people most often mean get a repair of their own.
    repair = "axes are aligned from the right, each must be equal or 1"
    if len(wanted) == 4 and given == (wanted[0], wanted[3]):
        repair = "for one row of keys per sequence use mask[:, None, None, :]"
    elif len(wanted) == 4 and given == (wanted[0], *wanted[2:]):
        repair = "for one mask per sequence use mask[:, None]"
    axes = "which are (batch, head, query, key)"
    raise ValueError(f"mask {given} does not fit scores {wanted}, {axes}; {repair}.")


def whole_numbers(name: str, one_each: str, given: Any, example: str) -> Tensor:
    """Integers, one for each of something: a list, an array or a tensor.

    >>> whole_numbers("ids", "one for each token", [0.5, 1.0], "[0, 0, 1]")
    Traceback (most recent call last):
    ...
    TypeError: ids are whole numbers, one for each token, not [0.5, 1.0]; say [0, 0, 1].
    """
    words = f"{name} are whole numbers, {one_each}, not {given!r}; say {example}."
    try:
        # On a CPU even under a default device that holds no numbers, such as meta.
        numbers = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(words) from error
    integers = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    if numbers.dtype not in integers or numbers.ndim == 0 or numbers.is_meta:
        raise TypeError(words)
    return numbers
