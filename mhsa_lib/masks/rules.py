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
        return self.function(query, key)

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
