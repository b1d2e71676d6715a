"""One pair of tokens and the map that mixes its heads, made of parts to weaken and change."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from traitlets import Dict, Float, Int, List, TraitError, validate

from mhsa_book import examples, plots
from mhsa_book.transformer.checks import whole_characters
from mhsa_book.widgets.compose_lab.layer import check, drawn, factors
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, whole
from mhsa_lib.variants.composed import Compose, Gate, LowRank, Static


class ComposeLab(Figure):
    """How the heads of every pair are mixed: the weights, the map, and the composed weights.

    ``compose`` is the exchange after the softmax, ``weights`` (head, query, key) what it gets,
    ``x`` (seq, d_model) the tokens that make its maps; without them, a random causal layer on
    six ``tokens``. Traits that the reader changes too: the strength of each part, ``static``,
    ``by_query``, ``by_key`` and ``gates``, from 0 (plain attention) to 1; ``maps``, the numbers
    by wire that the parts are made of; and the pair, ``query`` and ``key``.

    Raises ``ValueError`` if weights, tokens and branches do not fit each other or a figure,
    ``TraitError`` for a strength, a pair or a map that is not there.

    >>> lab = ComposeLab(static=0, by_query=0, by_key=0, gates=0)
    >>> torch.equal(lab.composed, torch.tensor(lab.weights, dtype=torch.float64))
    True
    """

    weights: "List[Any]" = List().tag(sync=True)
    tokens: "List[Any]" = List().tag(sync=True)
    maps: "Dict[Any, Any]" = Dict().tag(sync=True)
    static = Float(1.0, min=0.0, max=1.0).tag(sync=True)
    by_query = Float(1.0, min=0.0, max=1.0).tag(sync=True)
    by_key = Float(1.0, min=0.0, max=1.0).tag(sync=True)
    gates = Float(1.0, min=0.0, max=1.0).tag(sync=True)
    query = Int(0).tag(sync=True)
    key = Int(0).tag(sync=True)

    def __init__(
        self,
        compose: Compose | None = None,
        weights: Tensor | None = None,
        x: Tensor | None = None,
        tokens: Sequence[str] = examples.SIX_WORDS,
        **chosen: Any,
    ) -> None:
        if compose is None or weights is None or x is None:
            if not (compose is weights is x is None):
                raise ValueError("compose, weights and x come together; pass all, or none.")
            compose, weights, x = drawn()
        check(weights, x, tokens)
        for token in tokens:
            whole_characters("tokens", token)
        given = {"query": len(x) - 1, "key": len(x) // 3} | chosen
        super().__init__(
            weights=weights.detach().cpu().double().tolist(),
            tokens=list(tokens),
            **({"maps": factors(compose, x, len(weights))} | given),
        )

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        token = whole(0, len(self.tokens) - 1)
        return super().rules() | {"query": token, "key": token}

    @validate("query", "key")
    def _exists(self, proposal: Any) -> int:
        if not 0 <= proposal.value < len(self.tokens):
            raise TraitError(
                f"{proposal.trait.name}={proposal.value} is not from 0 to "
                f"{len(self.tokens) - 1}."
            )
        return int(proposal.value)

    @validate("maps")
    def _same_sizes(self, proposal: Any) -> dict[str, Any]:
        maps, before = proposal.value, self.maps
        if before and (
            {name: _shape(numbers) for name, numbers in maps.items()}
            != {name: _shape(numbers) for name, numbers in before.items()}
        ):
            raise TraitError(f"maps hold other names or sizes than {', '.join(before)}.")
        return dict(maps)

    @property
    def composed(self) -> Tensor:
        """The composed weights of all pairs now, (head, query, key), by the library's parts."""
        a = torch.tensor(self.weights, dtype=torch.float64)
        maps = {name: torch.tensor(n, dtype=a.dtype) for name, n in self.maps.items()}
        n_heads, strengths = len(a), {"query": self.by_query, "key": self.by_key}
        mixed = a + self.static * Static(n_heads).mix(a, maps["W_b"])
        for side, strength in strengths.items():
            w1, w2 = maps[f"{side}_w1"], maps[f"{side}_w2"]
            low = LowRank(1, n_heads, w1.shape[1], "post", side)
            gate = Gate(1, n_heads, "post", side)
            mixed = mixed + strength * low.mix(a, (w1, w2))
            mixed = mixed + self.gates * gate.mix(a, maps[f"{side}_gate"])
        return mixed

    @property
    def alt(self) -> str:
        composed, n = self.composed, len(self.tokens)
        sums = composed.sum(dim=-1)
        return (
            f"Composed weights of {len(composed)} heads, tables of {n} queries by {n} keys: "
            f"{int((composed < 0).sum())} are negative, and the rows sum to {sums.min():.2f} "
            f"to {sums.max():.2f}."
        )

    def still(self) -> None:
        heads = [f"head {head}" for head in range(len(self.weights))]
        plots.signed(self.composed, self.tokens, self.tokens, heads)


def _shape(numbers: Any) -> tuple[int, ...]:
    """The shape of nested lists; raises ``TraitError`` for what is no number.

    >>> _shape([[1.0, 2.0]])
    (1, 2)
    """
    if not isinstance(numbers, list):
        if not isinstance(numbers, (int, float)) or not isfinite(numbers):
            raise TraitError(f"maps hold {numbers!r}; put a finite number there.")
        return ()
    shapes = {_shape(part) for part in numbers}
    if len(shapes) != 1:
        raise TraitError("maps hold rows of different lengths; make them equal.")
    return (len(numbers), *shapes.pop())
