"""Who may look at whom: predicates that compose with ``&``, ``|`` and ``~``.

A predicate answers for a query position and a key position: True means *may look*, as in
``F.scaled_dot_product_attention``; ``nn.MultiheadAttention`` means the opposite
(``from_torch``, ``to_torch``). Queries are the last positions of the keys when there are
fewer of them, as in decoding.

>>> picture(causal & ~custom(lambda query, key: key == 1), 4)
■···
■···
■·■·
■·■■
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks
from mhsa_lib.masks import rules
from mhsa_lib.masks.structure import UNKNOWN, Band, Reach, known
from mhsa_lib.shapes import Mask


@dataclass(frozen=True)
class Predicate:
    """A rule about positions, evaluated only when somebody asks.

    ``reach`` says what is known about it beforehand, which kernels use to pass over the rest.
    Predicates that say the same are equal; a custom rule is equal to itself only. There is no
    truth in one: ``and``, ``or`` and ``not`` raise ``TypeError``.

    >>> causal(torch.tensor(3), torch.tensor(5))
    tensor(False)
    >>> sliding_window(3) == sliding_window(3)
    True
    """

    rule: rules.Lookable
    name: str
    reach: Reach = UNKNOWN

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.allows(query, key)

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """What calling the predicate gives; torch 2.5 compiles no object without a truth."""
        allowed = self.rule(query, key)
        if not isinstance(allowed, Tensor) or allowed.dtype is not torch.bool:
            kind = allowed.dtype if isinstance(allowed, Tensor) else type(allowed).__name__
            raise TypeError(
                f"{self.name} answered {kind}, not a bool tensor; "
                f"compare positions, for example `lambda query, key: query >= key`."
            )
        return allowed

    def dense(
        self, n_query: int, n_key: int, device: torch.device | str | None = None
    ) -> Tensor:
        """The boolean tensor (query, key), batch and head axes before it if the rule has them.

        >>> causal.dense(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
        """
        key = torch.arange(n_key, device=device)
        query = torch.arange(n_key - n_query, n_key, device=device)[:, None]
        allowed = self.allows(query, key)
        return allowed.expand(*allowed.shape[:-2], n_query, n_key)

    @property
    def fixed(self) -> bool:
        """Whether the answers stay what they are; of a custom rule nobody knows.

        >>> causal.fixed, (causal & custom(lambda query, key: key > 0)).fixed
        (True, False)
        """
        return isinstance(self.rule, rules.Rule) and self.rule.fixed

    def to(self, device: torch.device) -> "Predicate":
        """The same predicate, with the lengths it reads on ``device``."""
        if not isinstance(self.rule, rules.Rule):
            return self
        return replace(self, rule=self.rule.to(device))

    def __and__(self, other: Any) -> "Predicate":
        other = _predicate(self, "&", other)
        name, reach = f"({self.name} & {other.name})", self.reach & other.reach
        return Predicate(rules.Both(self, other), name, reach)

    def __or__(self, other: Any) -> "Predicate":
        other = _predicate(self, "|", other)
        return Predicate(rules.Either(self, other), f"({self.name} | {other.name})")

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Predicate":
        return Predicate(rules.Not(self), f"~{self.name}")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name} is a rule and neither true nor false; combine rules with `&`, `|` "
            f"and `~`, not with and, or, not; to ask whether there is one, use `is None`."
        )

    def __repr__(self) -> str:
        return self.name


causal = Predicate(rules.Causal(), "causal", Reach(Band(ahead=0), exact=True))
"""No query looks ahead of its own position."""


def sliding_window(window: int) -> Predicate:
    """The last ``window`` tokens, the own token counted, and nothing ahead.

    >>> picture(sliding_window(2), 4)
    ■···
    ■■··
    ·■■·
    ··■■
    """
    checks.positive(window=window)
    return Predicate(
        rules.Window(window),
        f"sliding_window({window})",
        Reach(Band(ahead=0, behind=window - 1), exact=True),
    )


def prefix(n: int) -> Predicate:
    """The first ``n`` tokens are seen by everyone; after them, no looking ahead.

    >>> picture(prefix(2), 4)
    ■■··
    ■■··
    ■■■·
    ■■■■
    """
    checks.positive(n=n)
    return Predicate(rules.Prefix(n), f"prefix({n})")


def key_padding(lengths: Any) -> Predicate:
    """Keys beyond each sequence's length are forbidden; every query still looks.

    ``lengths`` is a list, an array or a tensor of whole numbers, and is copied. This is what
    ``key_padding_mask`` of ``nn.MultiheadAttention`` does.

    >>> picture(key_padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ■··
    ■■■  ■··
    """
    ends = _lengths(lengths)
    return Predicate(
        rules.padding(ends, of_queries=False),
        f"key_padding({ends.tolist()})",
        Reach(key_lengths=known(ends), exact=ends.ndim == 1),
    )


def padding(lengths: Any) -> Predicate:
    """Padded keys and padded queries are forbidden: nothing is computed for padding.

    For self-attention; ``lengths`` as in ``key_padding``. The ``z`` of a padded query is 0, so
    its ``y`` is the bias of ``W_O``.

    >>> picture(padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ···
    ■■■  ···
    """
    ends = _lengths(lengths)
    return Predicate(
        rules.padding(ends, of_queries=True),
        f"padding({ends.tolist()})",
        Reach(key_lengths=known(ends), query_lengths=known(ends), exact=ends.ndim == 1),
    )


def custom(rule: Any) -> Predicate:
    """Your own rule about index tensors ``query`` (query, 1) and ``key`` (key).

    It is asked anew in every call, so it may read a tensor that changes between calls.

    >>> picture(custom(lambda query, key: (query - key) % 2 == 0), 4)
    ■·■·
    ·■·■
    ■·■·
    ·■·■
    """
    if isinstance(rule, Predicate) or not callable(rule):
        raise TypeError(
            f"custom takes a function of (query, key), not a {type(rule).__name__}."
        )
    name = getattr(rule, "__name__", "rule").strip("<>")
    return Predicate(rules.Own(rule), f"custom({name})")


class Picture(list[str]):
    """Rows of a drawn mask; printing shows them under each other."""

    def __repr__(self) -> str:
        return "\n".join(self)

    __str__ = __repr__


def picture(predicate: Predicate, n_query: int, n_key: int | None = None) -> Picture:
    """Draw a mask: one row per query, ``■`` may look, ``·`` may not; batches side by side.

    >>> picture(causal, 2, 4)
    ■■■·
    ■■■■
    """
    dense = predicate.dense(n_query, n_query if n_key is None else n_key)
    panels = dense.reshape(math.prod(dense.shape[:-2]), *dense.shape[-2:]).tolist()
    return Picture(
        "  ".join("".join("■" if allowed else "·" for allowed in row) for row in rows)
        for rows in zip(*panels, strict=True)
    )


def resolve(mask: Any, shape: Sequence[int], device: torch.device) -> Mask | None:
    """Whatever the caller gave as mask, as a boolean tensor that fits scores of this shape.

    Raises ``TypeError`` for another dtype and ``ValueError`` for a shape that does not fit.

    >>> resolve(causal, (1, 2, 2), torch.device("cpu"))
    tensor([[[ True, False],
             [ True,  True]]])
    """
    if mask is None:
        return None
    if isinstance(mask, Predicate):
        n_query, n_key = shape[-2:]
        mask = mask.dense(n_query, n_key, device=device)
    checks.boolean(mask)
    checks.mask_fits(mask, shape)
    return mask[(None,) * (len(shape) - mask.ndim)]


def from_additive(mask: Tensor) -> Tensor:
    """A mask that was meant to be added to the scores: 0 may look, -inf may not.

    The lowest finite number of the dtype is taken for -inf, as many libraries write it.

    >>> from_additive(torch.tensor([[0.0, float("-inf")]]))
    tensor([[ True, False]])
    """
    if not isinstance(mask, Tensor) or not mask.is_floating_point():
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"an additive mask is a floating-point tensor of 0 and -inf, not {kind}."
        )
    allowed, forbidden = mask == 0, mask <= torch.finfo(mask.dtype).min
    neither = mask[~(allowed | forbidden)]
    if neither.numel():
        raise ValueError(
            f"an additive mask holds 0 and -inf only, but {neither[0].item():g} is in it; "
            f"a bias such as ALiBi is not a mask: add it to the scores."
        )
    return allowed


def to_additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """What a mask adds to the scores; faster than filling: 0 may look, -inf may not.

    >>> to_additive(torch.tensor([[True, False]]), torch.float32)
    tensor([[0., -inf]])
    """
    checks.boolean(allowed)
    return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, -math.inf)


def from_torch(mask: Tensor) -> Tensor:
    """From ``nn.MultiheadAttention``'s meaning, True = blocked, to ours, True = may look.

    >>> from_torch(torch.tensor([[False, True]]))
    tensor([[ True, False]])
    """
    checks.boolean(mask)
    return ~mask


def to_torch(mask: Tensor) -> Tensor:
    """From our meaning, True = may look, to ``nn.MultiheadAttention``'s, True = blocked.

    >>> to_torch(causal.dense(2, 2))
    tensor([[False,  True],
            [False, False]])
    """
    checks.boolean(mask)
    return ~mask


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _lengths(lengths: Any) -> Tensor:
    words = f"lengths are whole numbers, one per sequence, not {lengths!r}; say [3, 4]."
    try:
        # On a CPU even under a default device that holds no numbers, such as meta.
        ends = (
            lengths if isinstance(lengths, Tensor) else torch.as_tensor(lengths, device="cpu")
        )
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(words) from error
    if ends.dtype not in _INTEGERS or ends.ndim == 0 or ends.is_meta:
        raise TypeError(words)
    if (ends < 0).any():
        raise ValueError(f"lengths={ends.tolist()} holds a negative length; the least is 0.")
    return ends


def _predicate(predicate: Predicate, sign: str, other: Any) -> Predicate:
    if isinstance(other, Predicate):
        return other
    repair = "wrap a function of (query, key) in masks.custom"
    if isinstance(other, Tensor):
        repair = (
            f"a tensor is made for one number of tokens and a rule for any: combine tensors, "
            f"{predicate.name}.dense(n_query, n_key) {sign} tensor"
        )
    raise TypeError(
        f"{predicate.name} {sign} a {type(other).__name__}: only predicates combine; {repair}."
    )
