"""Everything that is measured of one trained translator, as numbers by name."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.translation import alignment
from mhsa_book.experiments.translation.heads import (
    KINDS,
    Head,
    Instead,
    by_mean,
    by_resampling,
    by_zero,
    head_outputs,
    heads_of,
    without,
)
from mhsa_book.experiments.translation.worth import ASKED, asked, by_task, cost, nats
from mhsa_book.transformer import EncoderDecoder, greedy

TESTED, SEEN, COUNTED = 512, 512, 4000
"""Pairs on which all costs are taken, pairs for means and draws, pairs for counted places."""

DIGITS = 3


def fresh_pairs(n: int = TESTED) -> list[language.Pair]:
    """Pairs from a seed that training never draws.

    >>> len(fresh_pairs(3))
    3
    """
    return language.pairs(n, seed=1)


def other_pairs(n: int = SEEN) -> list[language.Pair]:
    """Pairs from another such seed, to take means and counts from.

    >>> other_pairs(1) == fresh_pairs(1)
    False
    """
    return language.pairs(n, seed=2)


def ways(model: EncoderDecoder, n: int = SEEN) -> dict[str, Instead]:
    """The three ways to switch a head of this model off, by name.

    >>> from mhsa_book.experiments.translation import learning
    >>> [*ways(learning.untrained(seed=0), n=4)]
    ['zero', 'mean', 'resample']
    """
    found = head_outputs(model, other_pairs(n))
    return {"zero": by_zero, "mean": by_mean(found), "resample": by_resampling(found)}


def groups(model: EncoderDecoder) -> dict[str, tuple[Head, ...]]:
    """Every head alone, and all heads of every kind.

    >>> from mhsa_book.experiments.translation import learning
    >>> {**groups(learning.untrained(seed=0))}["cross L1H2"]
    (cross L1H2,)
    """
    alone = {str(head): (head,) for head in heads_of(model)}
    return alone | {kind: heads_of(model, kind) for kind in KINDS}


def more(
    model: EncoderDecoder,
    pairs: Sequence[language.Pair],
    off: Iterable[Head],
    instead: Instead,
    whole: Tensor | None = None,
) -> Tensor:
    """Nats (sentence, token) that every word costs more than in the ``whole`` model.

    >>> from mhsa_book.experiments.translation import learning
    >>> model = learning.untrained(seed=0)
    >>> more(model, fresh_pairs(64), heads_of(model), by_zero).shape
    torch.Size([64, 13])
    """
    whole = nats(model, pairs) if whole is None else whole
    with without(model, off, instead):
        return nats(model, pairs) - whole


def translated(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> float:
    """Share of the sources whose greedy translation is one of the four right ones.

    >>> from mhsa_book.experiments.translation import learning
    >>> translated(learning.untrained(seed=0), fresh_pairs(2))
    0.0
    """
    said = map(language.TARGET.words, greedy(model, language.batch(pairs)[0]).ids)
    right = [
        words in [other.target for other in language.translations(" ".join(pair.source))]
        for words, pair in zip(said, pairs, strict=True)
    ]
    return sum(right) / len(right)


def missed(
    model: EncoderDecoder, pairs: Sequence[language.Pair], known: Sequence[language.Pair]
) -> dict[str, Any]:
    """Alignment errors of every measure; lists are (layer, head) or (layer).

    >>> from mhsa_book.experiments.translation import learning
    >>> [*missed(learning.untrained(seed=0), fresh_pairs(4), other_pairs(4))][:2]
    ['weights of a head', 'norms of a head']
    """
    aligned = alignment.gold(pairs)
    weights, norms = alignment.weights(model, pairs), alignment.norms(model, pairs)
    together = alignment.together(model, pairs)
    tables = {
        "weights of a head": weights,
        "norms of a head": norms,
        "weights of a layer": weights.sum(dim=1),
        "norms of a layer": together,
        "weights": weights.sum(dim=(0, 1)),
        "norms": together.sum(dim=0),
        "hiding a row": alignment.hidden(model, pairs),
        "positions": alignment.by_position(known, pairs),
    }
    return {name: alignment.missed(table, aligned).tolist() for name, table in tables.items()}


def measured(model: EncoderDecoder, untrained: EncoderDecoder) -> dict[str, Any]:
    """All costs and alignment errors of a trained model, and errors of an untrained one."""
    pairs, known = fresh_pairs(), other_pairs(COUNTED)
    whole, instead = nats(model, pairs), ways(model)
    where = {task: asked(pairs, task) for task in ASKED}
    off: dict[str, Any] = {way: {} for way in instead}
    for name, heads in groups(model).items():
        for way, put in instead.items():
            extra = more(model, pairs, heads, put, whole)
            off[way][name] = {task: [*cost(extra, where[task])] for task in ASKED}
    twos = {
        f"{one} and {other}": [
            *by_task(more(model, pairs, (one, other), instead["mean"], whole), pairs).values()
        ]
        for one, other in combinations(heads_of(model), 2)
    }
    bare = missed(untrained, pairs, known)
    return rounded(
        {
            "whole": by_task(whole, pairs) | {"greeting": whole[:, 0].mean().item()},
            "right": translated(model, pairs),
            "off": off,
            "pairs": twos,
            "missed": missed(model, pairs, known),
            "missed untrained": {name: bare[name] for name in ("weights", "norms")},
        }
    )


def rounded(value: Any) -> Any:
    """The same with three digits behind the point in every number.

    >>> rounded({"a": [0.123456, 1]})
    {'a': [0.123, 1]}
    """
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, DIGITS) if isinstance(value, float) else value
