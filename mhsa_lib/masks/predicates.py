"""Who may look at whom: predicates that compose with ``&``, ``|`` and ``~``.

A predicate answers for a query position and a key position: True means *may look*, as in
``F.scaled_dot_product_attention``; ``nn.MultiheadAttention`` means the opposite
(``masks.polarity``). Queries are the last positions of the keys when there are
fewer of them, as in decoding.

>>> from mhsa_lib.masks import picture
>>> picture(causal & ~custom(lambda query, key: key == 1), 4)
■···
■···
■·■·
■·■■
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks
from mhsa_lib.masks import rules
from mhsa_lib.masks.structure import UNKNOWN, Band, Structure, by_sequence
from mhsa_lib.shapes import Mask


@dataclass(frozen=True)
class Predicate:
    """A rule about positions, evaluated only when somebody asks.

    ``structure`` says what is known about it beforehand, so that kernels pass over the rest.
    Predicates that say the same are equal; a custom rule is equal to itself only. There is no
    truth in one: ``and``, ``or`` and ``not`` raise ``TypeError``.

    >>> causal(torch.tensor(3), torch.tensor(5))
    tensor(False)
    >>> sliding_window(3) == sliding_window(3)
    True
    """

    rule: rules.Lookable
    name: str
    structure: Structure = UNKNOWN

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
        name, structure = f"({self.name} & {other.name})", self.structure & other.structure
        return Predicate(rules.Both(self, other), name, structure)

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


causal = Predicate(rules.Causal(), "causal", Structure(Band(ahead=0), exact=True))
"""No query looks ahead of its own position."""


def sliding_window(window: int) -> Predicate:
    """The last ``window`` tokens, the own token counted, and nothing ahead.

    >>> from mhsa_lib.masks import picture
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
        Structure(Band(ahead=0, behind=window - 1), exact=True),
    )


def prefix(n: int) -> Predicate:
    """The first ``n`` tokens are seen by everyone; after them, no looking ahead.

    >>> from mhsa_lib.masks import picture
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

    >>> from mhsa_lib.masks import picture
    >>> picture(key_padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ■··
    ■■■  ■··
    """
    ends = checks.lengths(lengths)
    return Predicate(
        rules.padding(ends, of_queries=False),
        f"key_padding({ends.tolist()})",
        Structure(key_lengths=by_sequence(ends), exact=ends.ndim == 1),
    )


def padding(lengths: Any) -> Predicate:
    """Padded keys and padded queries are forbidden: nothing is computed for padding.

    For self-attention; ``lengths`` as in ``key_padding``. The ``z`` of a padded query is 0, so
    its ``y`` is the bias of ``W_O``.

    >>> from mhsa_lib.masks import picture
    >>> picture(padding([3, 1]), 3)
    ■■■  ■··
    ■■■  ···
    ■■■  ···
    """
    ends = checks.lengths(lengths)
    return Predicate(
        rules.padding(ends, of_queries=True),
        f"padding({ends.tolist()})",
        Structure(
            key_lengths=by_sequence(ends), query_lengths=by_sequence(ends), exact=ends.ndim == 1
        ),
    )


def documents(ids: Any) -> Predicate:
    """A query may attend to the keys of its own document: several texts packed into one row.

    ``ids`` (seq,), the same for every sequence, or (batch, seq) are whole numbers, a list, an
    array or a tensor, and are copied: the document of every token. A negative id is padding,
    which attends to nothing and which nothing attends to. Together with ``causal`` each
    document is read as if it were alone. In a cache the ids are those of the whole text.
    Raises ``TypeError`` for ids that are no whole numbers, and ``ValueError`` in a call with
    more tokens than ids.

    >>> from mhsa_lib.masks import picture
    >>> picture(causal & documents([[0, 0, 1], [0, 1, -1]]), 3)
    ■··  ■··
    ■■·  ·■·
    ··■  ···
    """
    given = checks.document_ids(ids)
    few = given.numel() <= MOST_NAMED
    name = given.tolist() if few else f"ids of shape {tuple(given.shape)}"
    reach = rules.longest_document(given) - 1
    return Predicate(
        rules.documents(given), f"documents({name})", Structure(Band(ahead=reach, behind=reach))
    )


MOST_NAMED = 64
"""Ids that the name of a mask of documents lists; of more it says the shape."""


def custom(rule: Any) -> Predicate:
    """Your own rule about index tensors ``query`` (query, 1) and ``key`` (key).

    The rule must answer for every pair on its own, because it is asked about parts of a
    sequence: what it says about some queries and keys is what it says about them among all
    others. A rule that reads its index tensors as a whole (``key == key.max()``), or returns a
    ready (n, n) tensor, raises ``ValueError``. Axes of the batch and of the heads come before
    (query, key), so a rule about a tensor (batch, seq) makes room for them:
    ``table[:, None, query] == table[:, None, None, key]``. For packed documents there is
    ``documents``.

    It is asked anew in every call, so it may read a tensor that changes between calls.

    >>> from mhsa_lib.masks import picture
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
