"""Who can attend to whom: rules about positions that compose with ``&``, ``|`` and ``~``.

A predicate answers for a query position and a key position: True means *may attend*, as in
``scaled_dot_product_attention`` of torch; ``nn.MultiheadAttention`` means the opposite
(``from_torch``, ``to_torch``). Queries are the last positions of the keys when there are fewer
of them, as in decoding. Masks are values: equal if they say the same, hashed, copied, pickled.
A kernel that prepares something (FlexAttention's block mask) keeps it for all that are equal.

>>> picture(causal & ~custom(lambda query, key: key == 1), 4)
■···
■···
■·■·
■·■■
"""

import copy
import math
import operator
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks
from mhsa_lib.execution_mode import is_eager
from mhsa_lib.masks.structure import NO_LIMIT, UNKNOWN, Band, Structure
from mhsa_lib.shapes import Mask

# --- rules -------------------------------------------------------------------------------


class Rule:
    """A function of positions that knows whether its answers can change."""

    @property
    def fixed(self) -> bool:
        """Whether the answer is the same at any time."""
        return True

    def to(self, device: torch.device) -> Any:
        """Return the same rule, with the tensors it reads on ``device``."""
        return self


@dataclass(frozen=True)
class InBand(Rule):
    """Keys in a band around the query."""

    band: Band

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.band.allows(query, key)


@dataclass(frozen=True)
class Prefix(Rule):
    """The first ``n`` keys, and those that are not after the query."""

    n: int

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (key < self.n) | (query >= key)


@dataclass(frozen=True)
class Padding(Rule):
    """Nothing at or beyond the end of a sequence: keys, and with ``of_queries`` queries too."""

    lengths: Any
    of_queries: bool
    # Tensors have no truth when compared, so `lengths` says the same in plain numbers.
    ends: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        ends = self.ends.to(key.device)[..., None, None, None]
        return (key < ends) & (query < ends) if self.of_queries else key < ends

    def to(self, device: torch.device) -> "Padding":
        return replace(self, ends=self.ends.to(device))


@dataclass(frozen=True)
class Documents(Rule):
    """Keys of the query's own document, by a ``table`` (…, seq + 1) of ids."""

    ids: Any
    # The last column is padding, -1: every position outside of the text reads that one.
    table: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        n_ids = self.table.shape[-1] - 1
        n_tokens = key.shape[-1] if key.ndim else 0
        if _readable(query, key) and key.numel() and query.numel():
            n_tokens = max(n_tokens, int(key.max()) + 1, int(query.max()) + 1)
        if n_tokens > n_ids:
            raise ValueError(
                f"documents has ids of {n_ids} tokens, but was asked about {n_tokens}; give an "
                f"id to every token of the text, those in the cache included."
            )
        own, other = self._of(query), self._of(key)
        return (own == other) & (own >= 0)

    def _of(self, position: Tensor) -> Tensor:
        table = self.table.to(position.device)
        n_ids = table.shape[-1] - 1
        outside = (position < 0) | (position >= n_ids)
        position = torch.where(outside, n_ids, position)
        if table.ndim == 1:
            return table[position]
        # (head, query, key) follow the axes of the batch, which positions in a cache have too.
        position = position[(None,) * (3 - position.ndim)]
        batch = torch.broadcast_shapes(table.shape[:-1], position.shape[:-3])
        position = position.expand(*batch, *position.shape[-3:])
        found = table.expand(*batch, n_ids + 1).gather(-1, position.flatten(-3))
        return found.view(position.shape)

    def to(self, device: torch.device) -> "Documents":
        return replace(self, table=self.table.to(device))


@dataclass(frozen=True)
class Combined(Rule):
    """Predicates and the function of ``operator`` that makes one answer of theirs."""

    sign: Callable[..., Tensor]
    parts: tuple[Any, ...]

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.sign(*[part.allows(query, key) for part in self.parts])

    @property
    def fixed(self) -> bool:
        return all(part.fixed for part in self.parts)

    def to(self, device: torch.device) -> "Combined":
        return replace(self, parts=tuple(part.to(device) for part in self.parts))


class Custom(Rule):
    """A caller's function, equal to itself only, because it may read a tensor that changes.

    It is pickled by its name; raises ``PicklingError`` for a function that has none.
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.function = function

    @property
    def fixed(self) -> bool:
        return False

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        if not _readable(query, key) or query.ndim < 2 or not key.ndim:
            return self.function(query, key)
        try:
            allowed = self.function(query, key)
        # No fault of the rule, and the caller may want to catch it.
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise self._error(f"raised {str(error).splitlines()[0]!r}", query, key) from error
        # Any other answer is refused by the predicate, which knows its own name.
        if not isinstance(allowed, Tensor) or allowed.dtype is not torch.bool:
            return allowed
        shape = torch.broadcast_shapes(query.shape, key.shape)
        if not _fits(allowed, shape):
            raise self._error(f"answered {tuple(allowed.shape)}", query, key)
        if not shape.numel() or shape[-2:].numel() == 1:
            return allowed
        # Kernels ask about parts. So two pairs are asked about again, the first query with the
        # last key and the reverse: what was read of all positions, a maximum, a count or a
        # ready tensor, differs at one of the ends from what is read of one.
        whole = allowed.expand(torch.broadcast_shapes(allowed.shape, shape))
        first, last = slice(None, 1), slice(-1, None)
        for one, other in ((first, last), (last, first)):
            expected = whole[..., one, other]
            alone = self.function(query[..., one, :], key[..., other])
            if not _fits(alone, expected.shape) or (alone != expected).any():
                raise self._error("answered otherwise", query, key)
        return allowed

    def _error(self, wrong: str, query: Tensor, key: Tensor) -> ValueError:
        return ValueError(
            f"custom({_name(self.function)}) {wrong} about {query.shape[-2]} queries and "
            f"{key.shape[-1]} keys, but a rule answers for each pair on its own, "
            f"(…, query, key), and the same in any part of a sequence; compare positions, and "
            f"read nothing of all of them. For packed documents use masks.documents(ids); for "
            f"other tables (batch, seq) let two axes follow the batch, "
            f"table[:, None, query] == table[:, None, None, key]."
        )

    def __eq__(self, other: object) -> bool:
        # Identity, because functions with the same code may read different tensors.
        return isinstance(other, Custom) and self.function is other.function

    def __hash__(self) -> int:
        return id(self.function)

    # Both would go through __reduce_ex__, which refuses what can be copied very well.
    def __copy__(self) -> "Custom":
        return Custom(self.function)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Custom":
        return Custom(copy.deepcopy(self.function, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self.function, "__qualname__", "")
        if "<" in name:
            raise pickle.PicklingError(
                f"a custom mask over {name} cannot be pickled: a function travels by its name, "
                f"and this one has none in its module; define the rule with `def` at the top "
                f"of a module."
            )
        return Custom, (self.function,)


def _name(function: Any) -> str:
    return getattr(function, "__name__", "rule").strip("<>")


def _nested(numbers: Any) -> Any:
    return tuple(map(_nested, numbers)) if isinstance(numbers, list) else numbers


def _readable(*positions: Tensor) -> bool:
    """Whether positions are numbers that may be read: not recorded, transformed or fake."""
    return is_eager() and all(type(p) is Tensor and not p.is_meta for p in positions)


def _fits(allowed: Tensor, shape: torch.Size) -> bool:
    """Whether an answer broadcasts to (…, query, key), with more axes before them or not."""
    last = tuple(allowed.shape[-2:])
    rooms = tuple(shape)[len(shape) - len(last) :]
    return all(size in (1, room) for size, room in zip(last, rooms, strict=True))


# --- predicates -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicate:
    """A rule about positions, evaluated only when it is called.

    ``structure`` says what is known about it beforehand. A custom rule is equal to itself only.
    There is no truth in one: ``and``, ``or`` and ``not`` raise ``TypeError``.

    >>> causal(torch.tensor(3), torch.tensor(5)), sliding_window(3) == sliding_window(3)
    (tensor(False), True)
    """

    rule: Callable[[Tensor, Tensor], Tensor]
    name: str
    structure: Structure = UNKNOWN

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.allows(query, key)

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the answer, as calling the predicate does."""
        # A method, because torch.compile in 2.5 cannot call an object whose __bool__ raises.
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
        """Return the boolean tensor (query, key), after axes of batch and head if there are.

        >>> causal.dense(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
        """
        # Fewer queries than keys are the last ones: in decoding the others are in the cache.
        key = torch.arange(n_key, device=device)
        query = torch.arange(n_key - n_query, n_key, device=device)[:, None]
        allowed = self.allows(query, key)
        return allowed.expand(*allowed.shape[:-2], n_query, n_key)

    @property
    def fixed(self) -> bool:
        """Whether the answers cannot change; a custom rule may read what does.

        >>> causal.fixed, (causal & custom(lambda query, key: key > 0)).fixed
        (True, False)
        """
        return isinstance(self.rule, Rule) and self.rule.fixed

    def to(self, device: torch.device) -> "Predicate":
        """Return the same predicate, with the lengths it reads on ``device``."""
        return replace(self, rule=self.rule.to(device)) if isinstance(self.rule, Rule) else self

    def __and__(self, other: Any) -> "Predicate":
        other = _predicate(self, "&", other)
        rule = Combined(operator.and_, (self, other))
        structure = self.structure & other.structure
        return Predicate(rule, f"({self.name} & {other.name})", structure)

    def __or__(self, other: Any) -> "Predicate":
        other = _predicate(self, "|", other)
        # What either allows is no band and no padding in general, so nothing is known.
        rule = Combined(operator.or_, (self, other))
        return Predicate(rule, f"({self.name} | {other.name})")

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Predicate":
        return Predicate(Combined(operator.invert, (self,)), f"~{self.name}")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name} is a rule and neither true nor false; combine rules with `&`, `|` "
            f"and `~`, not with and, or, not; to ask whether there is one, use `is None`."
        )

    def __repr__(self) -> str:
        return self.name


def _in_band(name: str, band: Band) -> Predicate:
    return Predicate(InBand(band), name, Structure(band, exact=True))


full = _in_band("full", NO_LIMIT)
"""Every query attends to every key: the neutral element of ``&``."""

causal = _in_band("causal", Band(ahead=0))
"""A query attends to no key after its own position."""


def sliding_window(window: int) -> Predicate:
    """Return the mask of the last ``window`` tokens, the query's own one included.

    >>> picture(sliding_window(2), 4)
    ■···
    ■■··
    ·■■·
    ··■■
    """
    checks.positive(window=window)
    return _in_band(f"sliding_window({window})", Band(ahead=0, behind=window - 1))


def prefix(n: int) -> Predicate:
    """Everyone attends to the first ``n`` tokens; beyond them to nothing after the query.

    >>> picture(prefix(2), 4)
    ■■··
    ■■··
    ■■■·
    ■■■■
    """
    checks.positive(n=n)
    return Predicate(Prefix(n), f"prefix({n})")


def key_padding(lengths: Any) -> Predicate:
    """Forbid keys beyond each sequence's length; every query still attends.

    ``lengths`` is a list, an array or a tensor of whole numbers, and is copied. This is what
    ``key_padding_mask`` of ``nn.MultiheadAttention`` does.

    >>> picture(key_padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ■··
    ■■■  ■··
    """
    return _padding("key_padding", lengths, of_queries=False)


def padding(lengths: Any) -> Predicate:
    """Forbid padded keys and padded queries: nothing is computed for padding.

    For self-attention; ``lengths`` as in ``key_padding``. The ``z`` of a padded query is 0, so
    its ``y`` is the bias of ``W_O``.

    >>> picture(padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ···
    ■■■  ···
    """
    return _padding("padding", lengths, of_queries=True)


def _padding(name: str, lengths: Any, of_queries: bool) -> Predicate:
    ends = checks.whole_numbers("lengths", "one per sequence", lengths, "[3, 4]")
    if (ends < 0).any():
        raise ValueError(f"lengths={ends.tolist()} holds a negative length; the least is 0.")
    known = tuple(ends.tolist()) if ends.ndim == 1 else None
    # A copy: the rule has to stay what it is equal to.
    rule = Padding(_nested(ends.tolist()), of_queries, ends.detach().clone())
    structure = Structure(NO_LIMIT, known, known if of_queries else None, known is not None)
    return Predicate(rule, f"{name}({ends.tolist()})", structure)


def documents(ids: Any) -> Predicate:
    """A query may attend to the keys of its own document: several texts packed into one row.

    ``ids`` (seq,), the same for every sequence, or (batch, seq) are whole numbers, a list, an
    array or a tensor, and are copied: the document of every token. A negative id is padding,
    which attends to nothing and which nothing attends to. Together with ``causal`` each
    document is read as if it were alone. In a cache the ids are those of the whole text.
    Raises ``TypeError`` for ids that are no whole numbers, and ``ValueError`` in a call with
    more tokens than ids.

    >>> picture(causal & documents([[0, 0, 1], [0, 1, -1]]), 3)
    ■··  ■··
    ■■·  ·■·
    ··■  ···
    """
    given = checks.whole_numbers("ids", "one for each token", ids, "[0, 0, 1]")
    numbers = given.tolist()
    # The longest document bounds a band, which lets kernels pass over most of a long row.
    reach = 0
    for row in given.reshape(-1, given.shape[-1]).tolist() if given.numel() else ():
        first: dict[int, int] = {}
        for place, document in enumerate(row):
            if document >= 0:
                reach = max(reach, place - first.setdefault(document, place))
    table = torch.nn.functional.pad(given.detach().long(), (0, 1), value=-1)
    # 64 ids are as many as an error message should repeat.
    name = numbers if given.numel() <= 64 else f"ids of shape {tuple(given.shape)}"
    structure = Structure(Band(ahead=reach, behind=reach))
    return Predicate(Documents(_nested(numbers), table), f"documents({name})", structure)


def custom(rule: Any) -> Predicate:
    """Your own rule about index tensors ``query`` (query, 1) and ``key`` (key).

    The rule must answer for every pair on its own, because kernels ask it about parts of a
    sequence. One that reads its index tensors as a whole (``key == key.max()``), or returns a
    ready (n, n) tensor, raises ``ValueError``. Axes of the batch and of the heads come before
    (query, key), so a rule about a tensor (batch, seq) makes room for them:
    ``table[:, None, query] == table[:, None, None, key]``. It is asked again in every call, so
    it may read a tensor that changes between calls.

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
    return Predicate(Custom(rule), f"custom({_name(rule)})")


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


# --- pictures, and the masks of other libraries -----------------------------------------------


class Picture(list[str]):
    """Rows of a drawn mask; printing shows them under each other."""

    def __repr__(self) -> str:
        return "\n".join(self)

    __str__ = __repr__


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

    ``from_torch`` and ``to_torch`` are two names of it, for a mask on its way from
    ``nn.MultiheadAttention``, where True is blocked, to ours, where True may attend, and back.

    >>> to_torch(causal.dense(2, 2))
    tensor([[False,  True],
            [False, False]])
    """
    checks.boolean(mask)
    return ~mask


from_torch = to_torch = flipped


def from_additive(mask: Tensor) -> Tensor:
    """Return the boolean form of a mask that is added to scores: 0 allowed, -inf forbidden.

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
    # A NaN is neither, and so is a bias: both would be lost in silence.
    neither = mask[~(allowed | forbidden)]
    if neither.numel():
        raise ValueError(
            f"an additive mask holds 0 and -inf only, but {neither[0].item():g} is in it; "
            f"a bias such as ALiBi is not a mask: add it to the scores."
        )
    return allowed


def to_additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what a boolean mask adds to the scores: 0 where allowed, -inf where forbidden.

    >>> to_additive(torch.tensor([[True, False]]), torch.float32)
    tensor([[0., -inf]])
    """
    checks.boolean(allowed)
    return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, -math.inf)
