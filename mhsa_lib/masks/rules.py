"""The functions of positions inside the masks of ``predicates``, equal if they say the same.

They can be hashed, copied and pickled. A kernel that prepares something for a rule, such as
FlexAttention's block mask, may keep it for every equal rule that is ``fixed``.
"""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

Lookable = Callable[[Tensor, Tensor], Tensor]
"""Answers True where the query at one position may look at the key at another."""


class Rule:
    """Asked about positions."""

    @property
    def fixed(self) -> bool:
        """Whether the answer is the same at any time."""
        return True

    def to(self, device: torch.device) -> Any:
        """The same rule, with the tensors it reads on ``device``."""
        return self


@dataclass(frozen=True)
class Causal(Rule):
    """No query looks ahead of its own position.

    >>> Causal() == Causal()
    True
    """

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query >= key


@dataclass(frozen=True)
class Window(Rule):
    """The last ``window`` tokens, the own one counted."""

    window: int

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (query - key < self.window)


@dataclass(frozen=True)
class Prefix(Rule):
    """The first ``n`` tokens, and what is not ahead."""

    n: int

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (key < self.n) | (query >= key)


@dataclass(frozen=True)
class Padding(Rule):
    """Nothing at or beyond the end of a sequence: keys, and with ``of_queries`` queries too.

    >>> ends = torch.tensor([3, 4])
    >>> rule = padding(ends, of_queries=False)
    >>> ends += 1  # belongs to the caller; the rule has a copy
    >>> rule == padding(torch.tensor([3, 4]), of_queries=False)
    True
    """

    lengths: Any
    of_queries: bool
    ends: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        ends = self.ends.to(key.device)[..., None, None, None]
        return (key < ends) & (query < ends) if self.of_queries else key < ends

    def to(self, device: torch.device) -> "Padding":
        """The same rule, with its lengths on ``device``."""
        return replace(self, ends=self.ends.to(device))


def padding(ends: Tensor, *, of_queries: bool) -> Padding:
    """The rule for lengths, which are copied."""
    return Padding(_nested(ends.tolist()), of_queries, ends.detach().clone())


@dataclass(frozen=True)
class Documents(Rule):
    """Keys of the query's own document.

    ``table`` (…, seq + 1) ends with a column of padding, which stands for all positions outside
    of the text.
    """

    ids: Any
    table: Tensor = field(compare=False, repr=False)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        self._has_ids_for(query, key)
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

    def _has_ids_for(self, query: Tensor, key: Tensor) -> None:
        n_ids = self.table.shape[-1] - 1
        n_tokens = key.shape[-1] if key.ndim else 0
        if _readable(query, key) and key.numel() and query.numel():
            n_tokens = max(n_tokens, int(key.max()) + 1, int(query.max()) + 1)
        if n_tokens > n_ids:
            raise ValueError(
                f"documents has ids of {n_ids} tokens, but was asked about {n_tokens}; give an "
                f"id to every token of the text, those in the cache included."
            )

    def to(self, device: torch.device) -> "Documents":
        """The same rule, with its ids on ``device``."""
        return replace(self, table=self.table.to(device))


def documents(ids: Tensor) -> Documents:
    """The rule for ids, which are copied.

    >>> documents(torch.tensor([3, 3, 4])) == documents(torch.tensor([3, 3, 4]))
    True
    """
    table = torch.nn.functional.pad(ids.detach().long(), (0, 1), value=-1)
    return Documents(_nested(ids.tolist()), table)


def longest_document(ids: Tensor) -> int:
    """Tokens from the first of a document to its last, at most; 1 if there are no documents.

    >>> longest_document(torch.tensor([[5, 5, 7, -1], [5, 7, 7, 5]]))
    4
    """
    longest = 1
    for row in ids.reshape(-1, ids.shape[-1]).cpu() if ids.numel() else ():
        _, document = row.unique(return_inverse=True)
        place = torch.arange(len(row), device="cpu")
        empty = torch.zeros(int(document.max()) + 1, dtype=torch.long, device="cpu")
        first = empty.scatter_reduce(0, document, place, "amin", include_self=False)
        last = empty.scatter_reduce(0, document, place, "amax", include_self=False)
        spans = (last - first + 1)[document[row >= 0]]
        longest = max(longest, int(spans.max()) if len(spans) else 1)
    return longest


@dataclass(frozen=True)
class Both(Rule):
    """What two predicates allow."""

    one: Any
    other: Any

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.one.allows(query, key) & self.other.allows(query, key)

    @property
    def fixed(self) -> bool:
        """Whether both parts are."""
        return self.one.fixed and self.other.fixed

    def to(self, device: torch.device) -> Any:
        """Both parts on ``device``."""
        return replace(self, one=self.one.to(device), other=self.other.to(device))


@dataclass(frozen=True)
class Either(Both):
    """What one of two predicates allows, or both."""

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.one.allows(query, key) | self.other.allows(query, key)


@dataclass(frozen=True)
class Not(Rule):
    """What a predicate forbids."""

    one: Any

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return ~self.one.allows(query, key)

    @property
    def fixed(self) -> bool:
        """Whether the predicate is."""
        return self.one.fixed

    def to(self, device: torch.device) -> Any:
        """The predicate on ``device``."""
        return Not(self.one.to(device))


class Own(Rule):
    """A caller's function, equal to itself only, for it may read a tensor that changes.

    It is pickled by its name; raises ``PicklingError`` for a function that has none.
    """

    def __init__(self, function: Lookable) -> None:
        self.function = function

    @property
    def fixed(self) -> bool:
        """Never: nobody can see what the function reads."""
        return False

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        if not _readable(query, key) or query.ndim < 2 or not key.ndim:
            return self.function(query, key)
        try:
            allowed = self.function(query, key)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            said = f"raised {str(error).splitlines()[0]!r}"
            raise ValueError(self._not_by_pair(said, query, key)) from error
        if isinstance(allowed, Tensor) and allowed.dtype is torch.bool:
            self._answers_by_pair(allowed, query, key)
        return allowed

    def _answers_by_pair(self, allowed: Tensor, query: Tensor, key: Tensor) -> None:
        """Refuse an answer that is another one for a pair alone, because kernels ask in pieces.

        The first query with the last key and the last with the first are asked about again:
        what is read of all positions, such as a maximum, a count or a ready tensor, differs
        from what is read of one at one of the ends.
        """
        shape = torch.broadcast_shapes(query.shape, key.shape)
        if not _fits(allowed, shape):
            raise ValueError(self._not_by_pair(f"answered {tuple(allowed.shape)}", query, key))
        if not shape.numel() or shape[-2:].numel() == 1:
            return
        whole = allowed.expand(torch.broadcast_shapes(allowed.shape, shape))
        first, last = slice(None, 1), slice(-1, None)
        for one, other in ((first, last), (last, first)):
            expected = whole[..., one, other]
            alone = self.function(query[..., one, :], key[..., other])
            if not _fits(alone, expected.shape) or (alone != expected).any():
                raise ValueError(self._not_by_pair("answered otherwise", query, key))

    def _not_by_pair(self, said: str, query: Tensor, key: Tensor) -> str:
        name = getattr(self.function, "__name__", "rule").strip("<>")
        return (
            f"custom({name}) {said} about {query.shape[-2]} queries and {key.shape[-1]} keys, "
            f"but a rule answers for each pair on its own, (…, query, key), and the same in "
            f"any part of a sequence; compare positions, and read nothing of all of them. For "
            f"packed documents use masks.documents(ids); for other tables (batch, seq) let two "
            f"axes follow the batch, table[:, None, query] == table[:, None, None, key]."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.function is other.function

    def __hash__(self) -> int:
        return id(self.function)

    def __copy__(self) -> "Own":
        return Own(self.function)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Own":
        return Own(copy.deepcopy(self.function, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self.function, "__qualname__", "")
        if "<" in name:
            raise pickle.PicklingError(
                f"a custom mask over {name} cannot be pickled: a function travels by its name, "
                f"and this one has none in its module; define the rule with `def` at the top "
                f"of a module."
            )
        return Own, (self.function,)


def _nested(numbers: Any) -> Any:
    return tuple(map(_nested, numbers)) if isinstance(numbers, list) else numbers


def _readable(*positions: Tensor) -> bool:
    """Whether positions are numbers that may be read: not recorded, transformed or fake."""
    from mhsa_lib.tracing.watched import only_run  # which needs what this package gives

    return only_run() and all(type(p) is Tensor and not p.is_meta for p in positions)


def _fits(allowed: Tensor, shape: torch.Size) -> bool:
    """Whether an answer broadcasts to (…, query, key), with more axes before them or not."""
    last = tuple(allowed.shape[-2:])
    rooms = tuple(shape)[len(shape) - len(last) :]
    return all(size in (1, room) for size, room in zip(last, rooms, strict=True))
