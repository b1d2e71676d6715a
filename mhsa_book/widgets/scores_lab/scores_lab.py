"""One row of scores, and what seven rules for the weights of a head make of it."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from traitlets import Float, Int, List, TraitError, validate

from mhsa_book import examples, plots
from mhsa_book.transformer.checks import whole_characters
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, number, whole
from mhsa_book.widgets.scores_lab.rules import HIGHEST, RULES, weights

MOST = 20


class ScoresLab(Figure):
    """One query's scores on some keys, under seven rules: weights, sums, what is handed over.

    ``scores`` (key) are those of queries and keys of mean square 1, from -4 to 4 as in a head
    of 16 columns; ``values`` has one number for each key, by default 1; without scores there
    are six words, one of which fits. Traits that the reader changes too: ``scores``,
    ``values``, ``removed`` (keys that are not there), ``key`` (the chosen one), ``factor`` on
    all scores, ``part`` (λ), ``sink`` (its score) and ``gate``. ``by_rule`` are the weights
    now, ``handed`` is what the head hands over.

    Raises ``ValueError`` if names and scores disagree or a figure cannot show them,
    ``TraitError`` for a number outside its range or a key that is not there.

    >>> lab = ScoresLab(gate=0.0)
    >>> lab.handed["softmax"] > 1, lab.handed["gate"]
    (True, 0.0)
    """

    tokens: "List[Any]" = List().tag(sync=True)
    scores: "List[Any]" = List().tag(sync=True)
    values: "List[Any]" = List().tag(sync=True)
    removed: "List[Any]" = List().tag(sync=True)
    key = Int(0).tag(sync=True)
    factor = Float(1.0, min=0.1, max=10.0).tag(sync=True)
    part = Float(0.5, min=0.0, max=1.0).tag(sync=True)
    sink = Float(0.0, min=-HIGHEST, max=10.0).tag(sync=True)
    gate = Float(0.5, min=0.0, max=1.0).tag(sync=True)

    def __init__(
        self,
        scores: Tensor | Sequence[float] | None = None,
        values: Sequence[float] | None = None,
        tokens: Sequence[str] | None = None,
        **chosen: Any,
    ) -> None:
        if scores is None:
            scores, tokens = [0.0, 3.0, 1.0, 0.0, 0.0, -1.0], tokens or examples.SIX_WORDS
            values = values or [1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
        row = torch.as_tensor(scores, dtype=torch.float64).tolist()
        words = [str(i) for i in range(len(row))] if tokens is None else list(tokens)
        numbers = [1.0] * len(row) if values is None else [float(value) for value in values]
        if not 2 <= len(row) <= MOST or not len(row) == len(words) == len(numbers):
            raise ValueError(
                f"{len(row)} scores, {len(numbers)} values and {len(words)} tokens; give each "
                f"key one of each, for 2 to {MOST} keys."
            )
        for word in words:
            whole_characters("tokens", word)
        chosen = {"key": row.index(max(row))} | chosen
        super().__init__(tokens=words, scores=row, values=numbers, **chosen)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        n = len(self.tokens)
        key, scores = whole(0, n - 1), items(number(-HIGHEST, HIGHEST), n, n)
        return super().rules() | {"key": key, "removed": items(key, n), "scores": scores}

    @validate("scores", "values")
    def _numbers(self, proposal: Any) -> list[float]:
        for one in proposal.value:
            if not isfinite(one) or abs(one) > HIGHEST:
                raise TraitError(
                    f"{proposal.trait.name} hold {one}, which is not from {-HIGHEST:.0f} to "
                    f"{HIGHEST:.0f}; use the factor for larger scores."
                )
        if len(proposal.value) != len(self.tokens):
            raise TraitError(
                f"{len(proposal.value)} {proposal.trait.name} for {len(self.tokens)} keys; "
                "give each key one."
            )
        return list(proposal.value)

    @validate("removed", "key")
    def _exists(self, proposal: Any) -> Any:
        value = proposal.value
        for key in value if proposal.trait.name == "removed" else [value]:
            if type(key) is not int or not 0 <= key < len(self.tokens):
                raise TraitError(
                    f"{proposal.trait.name}={value} is not from 0 to {len(self.tokens) - 1}."
                )
        return value

    @property
    def by_rule(self) -> dict[str, Tensor]:
        """The weights of all keys, by rule; 0 for those that are removed."""
        scores = torch.tensor(self.scores, dtype=torch.float64)
        there = torch.ones(len(scores), dtype=torch.bool)
        there[self.removed] = False
        rows = weights(scores, there, self.factor, self.part, self.sink)
        return dict(zip(RULES, rows, strict=True))

    @property
    def handed(self) -> dict[str, float]:
        """Weights times values, by rule; the gate multiplies that of the last."""
        values = torch.tensor(self.values, dtype=torch.float64)
        handed = {rule: float(row @ values) for rule, row in self.by_rule.items()}
        return handed | {"gate": self.gate * handed["gate"]}

    @property
    def alt(self) -> str:
        sums = ", ".join(f"{RULES[rule]} {row.sum():.2f}" for rule, row in self.by_rule.items())
        return (
            f"Weights of one query on {len(self.tokens)} keys under seven rules. Their sums: "
            f"{sums}."
        )

    def still(self) -> None:
        table = torch.stack(list(self.by_rule.values()))[None]
        names, axes = list(RULES.values()), ("key", "rule")
        plots.signed(table, names, self.tokens, ["weights"], label="weight", axes=axes)
