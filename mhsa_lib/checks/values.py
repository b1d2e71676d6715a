"""Numbers and words that a caller passes: sizes, probabilities, text."""

from operator import index
from typing import Any


def text(name: str, given: str) -> None:
    """Text of whole characters: no lone surrogate, half of one, which no file can hold.

    >>> text("tokens", "a" + chr(0xD83D))
    Traceback (most recent call last):
    ...
    ValueError: tokens holds half of a character, U+D83D at 1; pass the whole character, ...
    """
    for place, letter in enumerate(given):
        if "\ud800" <= letter <= "\udfff":
            raise ValueError(
                f"{name} holds half of a character, U+{ord(letter):X} at {place}; pass the "
                f'whole character, or text.encode("utf-8", "replace").decode("utf-8").'
            )


def positive(**sizes: int) -> None:
    """Sizes are whole numbers of at least one.

    >>> positive(d_model=12, n_heads=0)
    Traceback (most recent call last):
    ...
    ValueError: n_heads=0 is not a size; it must be at least 1.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{name}={size!r} is not a whole number; pass an int.")
        if size < 1:
            raise ValueError(f"{name}={size} is not a size; it must be at least 1.")


def probability(**values: float) -> None:
    """A dropout probability lies in [0, 1).

    >>> probability(dropout=1.5)
    Traceback (most recent call last):
    ...
    ValueError: dropout=1.5 is not a probability; it must be at least 0 and less than 1.
    """
    for name, value in values.items():
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
        below, above = d_model - d_model % n_heads, d_model + -d_model % n_heads
        options = " or ".join(f"d_model={size}" for size in (below, above) if size)
        raise ValueError(
            f"n_heads={n_heads} does not divide d_model={d_model}; "
            f"try {options}, or set d_head."
        )
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
    try:
        given = list(given)
    except TypeError as error:
        raise TypeError(
            f"keep={given!r} is no list of heads; pass their numbers, [0, 1], say."
        ) from error
    named = []
    for head in given:
        head = getattr(head, "tolist", lambda head=head: head)()
        if isinstance(head, bool):
            raise TypeError(
                f"keep={given} says yes or no where it should name heads; pass the numbers of "
                f"those to keep (of a tensor, keep.nonzero().flatten())."
            )
        try:
            named.append(index(head))
        except TypeError as error:
            raise TypeError(
                f"keep={given} holds {head!r}, which is no whole number; pass numbers of heads."
            ) from error
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
    """Columns that turn in pairs: an even number of them, or none.

    >>> pairs(d_rope=3)
    Traceback (most recent call last):
    ...
    ValueError: d_rope=3 is odd; columns turn in pairs, try d_rope=4, or 0 for none.
    """
    for name, width in widths.items():
        if width != 0:
            positive(**{name: width})
        if width % 2:
            raise ValueError(
                f"{name}={width} is odd; columns turn in pairs, try {name}={width + 1}, "
                f"or 0 for none."
            )


def no_wider_than_the_model(d_model: int, **latents: int) -> None:
    """A latent compresses a token: it has no more columns.

    >>> no_wider_than_the_model(d_model=12, d_latent=16)
    Traceback (most recent call last):
    ...
    ValueError: d_latent=16 is wider than d_model=12; a latent has at most 12 columns.
    """
    positive(d_model=d_model, **latents)
    for name, width in latents.items():
        if width > d_model:
            raise ValueError(
                f"{name}={width} is wider than d_model={d_model}; "
                f"a latent has at most {d_model} columns."
            )
