"""Who can attend to whom: rules about positions that compose with ``&``, ``|`` and ``~``.

True means *may attend*, as in torch's ``scaled_dot_product_attention``; for the opposite, that
of ``nn.MultiheadAttention``, see ``to_torch``. Fewer queries than keys are the last positions,
as in decoding. Masks are values: equal if they say the same, hashed, copied and pickled.

>>> picture(causal & ~custom(lambda query, key: key == 1), 3)
■··
■··
■·■
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import _torch_private, checks
from mhsa_lib.execution_mode import is_eager
from mhsa_lib.masks.structure import NO_LIMIT, UNKNOWN, Band, Rule, Structure
from mhsa_lib.shapes import Mask


@dataclass(frozen=True)
class Prefix(Rule):
    """The first ``n`` keys, and those that are not after the query."""

    n: int

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (key < self.n) | (query >= key)


@dataclass(frozen=True)
class Padding(Rule):
    """Nothing at or beyond the end of a sequence: keys, and with ``of_queries`` queries too."""

    # Tensors have no truth when compared, so rules are compared by their numbers as text.
    text: Any
    of_queries: bool
    ends: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        ends = self.ends.to(key.device)[..., None, None, None]
        return (key < ends) & (query < ends) if self.of_queries else key < ends


@dataclass(frozen=True)
class Documents(Rule):
    """Keys of the query's own document: ``table`` has the ids, ``start`` where a row begins."""

    text: Any
    n_ids: int
    table: Tensor = field(compare=False, repr=False)
    start: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        n_tokens = key.shape[-1] if key.ndim else 0
        if _readable(query, key) and key.numel() and query.numel():
            n_tokens = max(n_tokens, int(key.max()) + 1, int(query.max()) + 1)
        if n_tokens > self.n_ids:
            raise ValueError(
                f"documents has ids of {self.n_ids} tokens, but was asked about {n_tokens}; "
                f"give an id to every token of the text, those in the cache included."
            )
        own, other = self._of(query), self._of(key)
        return (own == other) & (own >= 0)

    def _of(self, position: Tensor) -> Tensor:
        outside = (position < 0) | (position >= self.n_ids)
        # A row of the table ends with padding, -1, which every position outside of it reads.
        entry = self.start.to(position.device) + torch.where(outside, self.n_ids, position)
        return self.table.to(position.device)[entry]


@dataclass(frozen=True)
class Combined(Rule):
    """Predicates, and the function of ``operator`` that makes one answer of their answers."""

    function: Callable[..., Tensor]
    parts: tuple["Predicate", ...]

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        answers = [part.allows(query, key) for part in self.parts]
        return reduce(self.function, answers) if answers[1:] else self.function(*answers)

    def to(self, device: torch.device) -> "Combined":
        return replace(self, parts=tuple(part.to(device) for part in self.parts))


# No Rule, because a caller's function may read a tensor that changes. Functions are equal only
# to themselves, so two of the same code, which may read different tensors, are not.
@dataclass(frozen=True)
class Custom:
    """A caller's function of positions."""

    function: Callable[[Tensor, Tensor], Any]
    name: str

    def __call__(self, query: Tensor, key: Tensor) -> Any:
        if not _readable(query, key) or query.ndim < 2 or not key.ndim:
            return self.function(query, key)
        allowed = self._answer(query, key)
        # Kernels ask about parts. So two pairs are asked about again, the first query with the
        # last key and the reverse: what was read of all positions, a maximum, a count or a
        # ready tensor, differs at one of the ends from what is read of one.
        first, last = slice(None, 1), slice(-1, None)
        for one, other in ((first, last), (last, first)):
            alone = self._answer(query[..., one, :], key[..., other])
            if (alone != allowed[..., one, other]).any():
                raise self._error("answered otherwise", query, key)
        return allowed

    def _answer(self, query: Tensor, key: Tensor) -> Tensor:
        try:
            allowed = _boolean(self.name, self.function(query, key))
        # No fault of the rule, and the caller may want to catch it.
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise self._error(f"raised {str(error)!r:.80}", query, key) from error
        # More axes may come before (query, key), for a batch or for heads.
        shape = torch.broadcast_shapes(query.shape, key.shape)
        pairs = zip(reversed(allowed.shape[-2:]), reversed(shape), strict=False)
        if any(size not in (1, room) for size, room in pairs):
            raise self._error(f"answered {tuple(allowed.shape)}", query, key)
        return allowed.expand(torch.broadcast_shapes(allowed.shape, shape))

    def _error(self, wrong: str, query: Tensor, key: Tensor) -> ValueError:
        return ValueError(
            f"{self.name} {wrong} about {query.shape[-2]} queries and {key.shape[-1]} keys, "
            f"but a rule answers for each pair on its own, (…, query, key), and the same in "
            f"any part of a sequence; compare positions, and read nothing of all of them. For "
            f"packed documents use masks.documents(ids); for other tables (batch, seq) let "
            f"two axes follow the batch, table[:, None, query] == table[:, None, None, key]."
        )


def _readable(*positions: Tensor) -> bool:
    """Whether positions are numbers that may be read: not recorded, transformed or fake."""
    return is_eager() and all(type(p) is Tensor and not p.is_meta for p in positions)


def _said(numbers: Tensor) -> Any:
    """The numbers as text, by which rules are compared, or unread, when they are recorded."""
    return str(numbers.tolist()) if is_eager() else numbers


def _boolean(name: str, allowed: Any) -> Tensor:
    if not isinstance(allowed, Tensor) or allowed.dtype is not torch.bool:
        kind = allowed.dtype if isinstance(allowed, Tensor) else type(allowed).__name__
        raise TypeError(
            f"{name} answered {kind}, not a bool tensor; "
            f"compare positions, for example `lambda query, key: query >= key`."
        )
    return allowed


@_torch_private.constant_when_exported
@dataclass(frozen=True)
class Predicate:
    """A rule about positions, evaluated only when it is called.

    ``structure`` says what is known about it beforehand. There is no truth in a rule: ``and``,
    ``or`` and ``not`` raise ``TypeError``.

    >>> causal(torch.tensor(3), torch.tensor(5)), sliding_window(3) == sliding_window(3)
    (tensor(False), True)
    """

    rule: Callable[[Tensor, Tensor], Any]
    name: str
    structure: Structure = UNKNOWN

    # A method, because torch.compile in 2.5 cannot call an object whose __bool__ raises.
    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the answer, as calling the predicate does."""
        return _boolean(self.name, self.rule(query, key))

    __call__ = allows

    def dense(self, n_query: int, n_key: int, device: Any = None) -> Tensor:
        """Return the boolean tensor (query, key), after axes of batch and head if there are.

        >>> causal.dense(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
        """
        # Fewer queries than keys are the last ones: in decoding the others are in the cache.
        key = torch.arange(n_key, device=device)
        query = torch.arange(n_key - n_query, n_key, device=device)[:, None]
        allowed = self.allows(query, key)
        # Every pair has memory of its own, so that whoever owns the tensor may change one.
        return allowed.expand(*allowed.shape[:-2], n_query, n_key).contiguous()

    @property
    def fixed(self) -> bool:
        """Whether the answers cannot change; a custom rule may read what does."""
        parts = self.rule.parts if isinstance(self.rule, Combined) else ()
        return isinstance(self.rule, Rule) and all(part.fixed for part in parts)

    def to(self, device: torch.device) -> "Predicate":
        """Return the same predicate, with the tensors it reads on ``device``."""
        return replace(self, rule=self.rule.to(device)) if isinstance(self.rule, Rule) else self

    def __and__(self, other: Any) -> "Predicate":
        both = self._combined("&", operator.and_, other)
        return replace(both, structure=self.structure & other.structure)

    def __or__(self, other: Any) -> "Predicate":
        # What either allows is no band and no padding in general, so nothing is known.
        return self._combined("|", operator.or_, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Predicate":
        return Predicate(Combined(operator.invert, (self,)), f"~{self.name}")

    def _combined(self, sign: str, function: Callable[..., Tensor], other: Any) -> "Predicate":
        if not isinstance(other, Predicate):
            # A tensor is made for one number of tokens, and a rule for any.
            raise TypeError(
                f"{self.name} {sign} a {type(other).__name__}: only predicates combine; wrap a "
                f"function of (query, key) in masks.custom, and combine a tensor with another, "
                f"{self.name}.dense(n_query, n_key) {sign} tensor."
            )
        rule = Combined(function, (*_parts(self, function), *_parts(other, function)))
        return Predicate(rule, f"({self.name} {sign} {other.name})")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name} is a rule and neither true nor false; combine rules with `&`, `|` "
            f"and `~`, not with and, or, not; to ask whether there is one, use `is None`."
        )

    def __repr__(self) -> str:
        return self.name


def _parts(predicate: Predicate, function: Callable[..., Tensor]) -> tuple[Predicate, ...]:
    """What is joined by ``function`` already stands side by side: nested it would recurse."""
    rule = predicate.rule
    if isinstance(rule, Combined) and rule.function is function:
        return rule.parts
    return (predicate,)


_FARTHEST = 2**62  # beyond any text; torch wraps what does not fit 64 bits, also in a sum


def _in_band(name: str, band: Band) -> Predicate:
    return Predicate(band, name, Structure(band, exact=True))


full = _in_band("full", NO_LIMIT)
"""Every query attends to every key: the neutral element of ``&``."""

causal = _in_band("causal", Band(ahead=0))
"""A query attends to no key after its own position."""


def sliding_window(window: int) -> Predicate:
    """A query attends to the last ``window`` tokens, its own included.

    >>> picture(sliding_window(2), 3)
    ■··
    ■■·
    ·■■
    """
    checks.positive(window=window)
    behind = min(window - 1, _FARTHEST)
    return _in_band(f"sliding_window({window})", Band(ahead=0, behind=behind))


def prefix(n: int) -> Predicate:
    """Everyone attends to the first ``n`` tokens; beyond them to nothing after the query.

    Where ``n`` differs between sequences, write ``causal | key_padding([n, ...])``.

    >>> picture(prefix(2), 3)
    ■■·
    ■■·
    ■■■
    """
    checks.positive(n=n)
    return Predicate(Prefix(min(n, _FARTHEST)), f"prefix({n})")


def key_padding(lengths: Any) -> Predicate:
    """Forbid keys beyond each sequence's length; every query still attends.

    ``lengths``, whole numbers in a list, an array or a tensor, are copied. The same as
    ``key_padding_mask`` of ``nn.MultiheadAttention``.

    >>> picture(key_padding([3, 1]), 2, 3)
    ■■■  ■··
    ■■■  ■··
    """
    return _padding("key_padding", lengths, of_queries=False)


def padding(lengths: Any) -> Predicate:
    """Forbid padded keys and padded queries, in self-attention: nothing is computed for them.

    The ``z`` of a padded query is 0, so its ``y`` is the bias of ``W_O``.

    >>> picture(padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ···
    ■■■  ···
    """
    return _padding("padding", lengths, of_queries=True)


def _padding(name: str, lengths: Any, of_queries: bool) -> Predicate:
    ends = checks.whole_numbers("lengths", "one per sequence", lengths, "[3, 4]")
    known = None
    if is_eager():
        name = f"{name}({ends.tolist()})"
        if (ends < 0).any():
            raise ValueError(
                f"lengths={ends.tolist()} holds a negative length; the least is 0."
            )
        known = tuple(ends.tolist()) if ends.ndim == 1 else None
    structure = Structure(NO_LIMIT, known, known if of_queries else None, known is not None)
    # A copy: the rule has to stay what it is equal to.
    rule = Padding(_said(ends), of_queries, ends.detach().clone())
    return Predicate(rule, name, structure)


def documents(ids: Any) -> Predicate:
    """A query attends to the keys of its own document: several texts packed into one row.

    ``ids``, whole numbers in a list, an array or a tensor (seq,) or (batch, seq), are copied:
    the document of every token, those in a cache included; a negative id is padding, which
    attends to nothing and which nothing attends to. With ``causal`` each token attends to
    what it would attend to if its document were alone; positions that are part of the tokens
    have to begin anew as well. Raises ``ValueError`` in a call with more tokens than ids.

    >>> picture(causal & documents([[0, 0, 1], [0, 1, -1]]), 3)
    ■··  ■··
    ■■·  ·■·
    ··■  ···
    """
    given = checks.whole_numbers("ids", "one for each token", ids, "[0, 0, 1]").detach().long()
    *batch, n_ids = given.shape
    # The longest document bounds a band, which lets kernels pass over most of a long row.
    reach = 0
    for row in given.reshape(-1, n_ids).tolist() if given.numel() and is_eager() else ():
        first: dict[int, int] = {}
        for place, document in enumerate(row):
            if document >= 0:
                reach = max(reach, place - first.setdefault(document, place))
    table = torch.nn.functional.pad(given, (0, 1), value=-1)
    start = torch.arange(0, table.numel(), n_ids + 1, device=given.device)
    # Axes of the batch stand before (head, query, key); ids of one row have none.
    start = start.view(*batch, 1, 1, 1) if batch else start[0]
    rule = Documents(_said(given), n_ids, table.flatten(), start)
    # 64 ids are as many as an error message should repeat.
    few = given.numel() <= 64 and is_eager()
    name = rule.text if few else f"ids of shape {tuple(given.shape)}"
    known = Structure(Band(ahead=reach, behind=reach)) if is_eager() else UNKNOWN
    return Predicate(rule, f"documents({name})", known)


def custom(rule: Any) -> Predicate:
    """Your own rule about index tensors ``query`` (query, 1) and ``key`` (key).

    Kernels ask it about parts of a sequence, so it answers for every pair on its own; one that
    reads positions as a whole (``key == key.max()``), or returns a ready (n, n) tensor, raises
    ``ValueError``. Axes of batch and heads come before (query, key), so a table (batch, seq)
    makes room for them: ``table[:, None, query] == table[:, None, None, key]``. It is asked
    in every call, so a tensor that it reads may change. It is pickled by its function's name.

    >>> picture(custom(lambda query, key: (query - key) % 2 == 0), 3)
    ■·■
    ·■·
    ■·■
    """
    if isinstance(rule, Predicate) or not callable(rule):
        raise TypeError(
            f"custom takes a function of (query, key), not a {type(rule).__name__}."
        )
    name = f"custom({getattr(rule, '__name__', 'rule').strip('<>')})"
    return Predicate(Custom(rule, name), name)


def resolve(mask: Any, shape: Sequence[int], device: torch.device) -> Mask | None:
    """Return the caller's mask as a boolean tensor that fits scores of this shape, or None.

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


class Picture(list[str]):
    """Rows of a drawn mask; printing shows them under each other."""

    def __repr__(self) -> str:
        return "\n".join(self)


def picture(predicate: Predicate, n_query: int, n_key: int | None = None) -> Picture:
    """Draw a mask: one row per query, ``■`` allowed, ``·`` forbidden; batches side by side.

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


def flipped(mask: Tensor) -> Tensor:
    """Return a boolean mask in the opposite convention: True where it was False.

    ``from_torch`` and ``to_torch`` are its names for a mask that comes from or goes to
    ``nn.MultiheadAttention``, where True is blocked.

    >>> to_torch(causal.dense(2, 2))
    tensor([[False,  True],
            [False, False]])
    """
    checks.boolean(mask)
    return ~mask


from_torch = to_torch = flipped


def from_additive(mask: Tensor) -> Tensor:
    """Return the boolean form of a mask that is added to scores: 0 allowed, -inf forbidden.

    The lowest finite number of the dtype is taken for -inf, as many libraries write it. Any
    other number raises ``ValueError``.

    >>> from_additive(torch.tensor([[0.0, float("-inf")]]))
    tensor([[ True, False]])
    """
    if not isinstance(mask, Tensor) or not mask.is_floating_point():
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"an additive mask is a floating-point tensor of 0 and -inf, not {kind}."
        )
    allowed, forbidden = mask == 0, mask <= torch.finfo(mask.dtype).min
    # A NaN is neither, and so is a bias: both would be lost in silence.
    neither = mask[~(allowed | forbidden)]
    if neither.numel():
        value, repair = (
            neither[0].item(),
            "a bias such as ALiBi is not a mask: add it to scores",
        )
        if value <= -1e3:
            repair = f"if it stands for -inf, pass mask.masked_fill(mask < {value / 2:g}, -inf)"
        raise ValueError(
            f"an additive mask holds 0 and -inf only, but {value:g} is in it; {repair}."
        )
    return allowed


def to_additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what a boolean mask adds to the scores: 0 where allowed, -inf where forbidden.

    >>> to_additive(torch.tensor([[True, False]]), torch.float32)
    tensor([[0., -inf]])
    """
    checks.boolean(allowed)
    return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, -math.inf)
