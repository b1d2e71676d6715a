"""Every head of a model on one text: all of them small, one of them large, two compared."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import torch
from torch import Tensor
from traitlets import Bool, Dict, Enum, Int, List, TraitError, Unicode, observe, validate

from mhsa_book import examples, plots
from mhsa_book.widgets.figure import Figure, png
from mhsa_book.widgets.packed import packed, unpacked
from mhsa_book.widgets.rules import Rule, or_none, parts, whole
from mhsa_lib.tracing.wires import trace

LIMIT = 200_000
"""Bytes of weights and tokens that a page without a kernel carries for one figure."""

AXES = ("layer", "head", "query", "key")
SORTS = ("layer", "entropy", "distance", "previous", "own", "next", "first", "confidence")


class HeadExplorer(Figure):
    """Small maps of all heads; one head large, with exact weights; two heads side by side.

    ``weights`` is (layer, head, query, key), as ``models.load().attend(text)`` returns;
    missing leading axes count as one layer, one head. ``tokens`` name the queries, and the keys
    too unless ``key_tokens`` are given (cross-attention). A row of zeros looks at nothing.

    Every other trait can be set from Python and is set by the reader: ``layer``, ``head``,
    ``query``, ``key``, ``direction`` ("query to key" or "key to query"), ``view`` ("heat map"
    or "lines"), ``sort`` ("layer" for the model's own order, or a measure), ``compared`` (a
    pair [layer, head], or None), ``hidden`` (texts of tokens whose rows and columns are left
    out) and ``renormalise`` (whether the rows left are divided by their sums).
    ``HeadExplorer.inside(attention, x, tokens)`` looks into one attention, of any kind.
    ``HeadExplorer.of(model, text)`` also has ``text``: set it, or type it where a kernel is,
    and the model attends again.

    Weights are kept as 16-bit numbers, exact to 0.00001; only an exact 0 stays 0. What exceeds
    ``LIMIT`` bytes lives with a kernel only: without one it is a still picture that says so.

    Raises ``ValueError`` for weights of another shape, that are NaN, negative or no rows of
    distributions, or for tokens of another number; ``TypeError`` for what is no tensor or no
    text; ``TraitError`` for a layer, head, query or key that does not exist.

    Without arguments it shows the heads of the running example on its first sentence.

    >>> explorer = HeadExplorer(torch.eye(3).expand(2, 4, 3, 3), ["I", "saw", "it"], layer=1)
    >>> explorer.head, explorer.shape
    (0, (2, 4, 3, 3))
    """

    attention = Dict().tag(sync=True)
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    query = Int(0).tag(sync=True)
    key = Int(0).tag(sync=True)
    direction = Enum(("query to key", "key to query"), "query to key").tag(sync=True)
    view = Enum(("heat map", "lines"), "heat map").tag(sync=True)
    sort = Enum(SORTS, "layer").tag(sync=True)
    compared = List(Int(), None, allow_none=True).tag(sync=True)
    hidden = List(Unicode()).tag(sync=True)
    renormalise = Bool(True).tag(sync=True)
    text = Unicode(None, allow_none=True).tag(sync=True)
    problem = Unicode("").tag(sync=True)

    def __init__(
        self,
        weights: Tensor | None = None,
        tokens: Sequence[str] = examples.SENTENCES[0],
        key_tokens: Sequence[str] | None = None,
        *,
        model: Any = None,
        **chosen: Any,
    ) -> None:
        self._model = model
        weights = examples.running()["weights"][0] if weights is None else weights
        super().__init__(attention=packed(weights, tokens, key_tokens), **chosen)

    @staticmethod
    def of(model: Any, text: str, **chosen: Any) -> "HeadExplorer":
        """Every head of a model on a text that can be changed; ``model.attend(text)`` looks."""
        tokens, weights = _reading(model)(text)
        return HeadExplorer(weights, tokens, model=model, text=text, **chosen)

    @staticmethod
    def inside(
        attention: Any, x: Tensor, tokens: Sequence[str], mask: Any = None, **chosen: Any
    ) -> "HeadExplorer":
        """The heads of one attention, any variant, on rows ``x`` (seq, d_model)."""
        with torch.no_grad(), trace(attention) as wires:
            attention(x, mask=mask)
        return HeadExplorer(wires["weights"], tokens, **chosen)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of (layer, head, query, key)."""
        return tuple(self.attention["shape"])

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return super().rules() | _places(self.shape)

    @property
    def alt(self) -> str:
        """Which head the still picture shows, and its largest weight."""
        weights, tokens, keys = self.shown()
        largest = int(weights.argmax())
        query, key = divmod(largest, len(keys))
        return (
            f"Heat map of layer {self.layer}, head {self.head}, {len(tokens)} queries by "
            f"{len(keys)} keys. Its largest weight is {weights.flatten()[largest]:.2f}, "
            f"from {tokens[query]} to {keys[key]}."
        )

    def still(self) -> None:
        """Draw the large head."""
        weights, tokens, keys = self.shown()
        title = f"layer {self.layer}, head {self.head}"
        plots.heat_map(weights, tokens, keys=keys, title=title)

    def shown(self) -> tuple[Tensor, list[str], list[str]]:
        """The large head without what is hidden, its tokens and its keys."""
        chosen = self.layer, self.head
        return without(self.attention, chosen, self.hidden, self.renormalise)

    def state(self) -> dict[str, Any]:
        """Every trait of the page; no text, because no model is there to read another."""
        return super().state() | {"text": None, "problem": ""}

    def html(self) -> str:
        """The figure without a kernel; beyond ``LIMIT`` bytes a still picture that says why."""
        names = {*self.attention["tokens"], *self.attention["keys"]}
        size = len(self.attention["weights"]) * 4 // 3 + sum(len(n.encode()) for n in names)
        return super().html() if size <= LIMIT else still_only(self, size)

    @observe("text")
    def _attend(self, change: Any) -> None:
        if change.old is None or self._model is None:
            return
        try:
            tokens, weights = self._model.attend(change.new)
            attention = packed(weights, tokens)
        except (TypeError, ValueError) as error:
            self.problem = str(error)
            return
        with self.hold_sync():
            self.query, self.key = (min(at, len(tokens) - 1) for at in (self.query, self.key))
            self.attention, self.problem = attention, ""

    @validate(*AXES)
    def _exists(self, proposal: Any) -> int:
        if proposal.value not in range(size := self.shape[AXES.index(proposal.trait.name)]):
            raise TraitError(
                f"{proposal.trait.name}={proposal.value} does not exist; use 0 to {size - 1}."
            )
        return int(proposal.value)

    @validate("compared")
    def _is_a_head(self, proposal: Any) -> Any:
        pair, sizes = proposal.value, self.shape[:2]
        if pair is None or (
            len(pair) == 2 and all(0 <= i < size for i, size in zip(pair, sizes, strict=True))
        ):
            return pair
        raise TraitError(
            f"compared={pair} is no head; use None or [layer, head], below {list(sizes)}."
        )


def without(
    attention: dict[str, Any], chosen: tuple[int, int], hidden: Sequence[str], renormalise: bool
) -> tuple[Tensor, list[str], list[str]]:
    """One head without the rows and columns of hidden tokens, its tokens and its keys."""
    tokens, keys = attention["tokens"], attention["keys"]
    rows, columns = ([i for i, t in enumerate(names) if t not in hidden]
                     for names in (tokens, keys))  # fmt: skip
    weights = unpacked(attention)[chosen]
    if rows and columns:
        weights = weights[rows][:, columns]
        tokens, keys = [tokens[i] for i in rows], [keys[i] for i in columns]
        if renormalise:
            total = weights.sum(dim=-1, keepdim=True)
            weights = weights / total.where(total > 0.01, 1)  # of less, most is rounding
    return weights, tokens, keys


def still_only(explorer: HeadExplorer, size: int) -> str:
    """A still picture, and why a page without a kernel cannot carry the figure."""
    n_layers, n_heads, n_query, n_key = explorer.shape
    fits = math.isqrt(LIMIT * 3 // 8 // (n_layers * n_heads))
    return (
        f'<p role="note">{n_layers} × {n_heads} heads of {n_query} × {n_key} weights are '
        f"{size:,} bytes; without a kernel a page carries {LIMIT:,} for one figure. Choose "
        f"layers, as in weights[{explorer.layer}:{explorer.layer + 1}], or at most {fits} "
        f'tokens.</p><img alt="{escape(explorer.alt)}" src="{png(explorer.still)}" '
        f'style="max-width:100%">'
    )


def _reading(model: Any) -> Any:
    """A model's own ``attend``, or a refusal."""
    if not hasattr(model, "attend"):
        raise TypeError(
            f"{type(model).__name__} has no attend(text) that returns tokens and weights, as "
            "mhsa_book.models's models have; HeadExplorer(weights, tokens) shows the "
            "weights of any other."
        )
    return model.attend


def _places(shape: Sequence[int]) -> dict[str, Rule]:
    """A place on each axis of the weights, and the head to compare with, if there is one."""
    found = {name: whole(0, size - 1) for name, size in zip(AXES, shape, strict=True)}
    return found | {"compared": or_none(parts(found["layer"], found["head"]))}
