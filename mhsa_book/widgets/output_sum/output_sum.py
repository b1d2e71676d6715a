"""Which head wrote this number: the product concat @ W_O as a sum with one term per head."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from traitlets import Int, List, TraitError, validate

from mhsa_book import examples, plots
from mhsa_book.plots.contribution import one_sequence
from mhsa_book.transformer.checks import whole_characters
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, whole
from mhsa_lib.tracing.wires import trace

LIMITS = {"heads": 12, "queries": 32, "columns of concat": 64, "coordinates of y": 48}


class OutputSum(Figure):
    """What each head adds to every coordinate of one token's output, and heads to switch off.

    ``z`` is the wire (head, query, d_head), leading axes of size 1 are dropped; ``W_O`` the
    ``nn.Linear`` after it, a bias counts as one more part; ``tokens`` are texts, one per query,
    ``columns`` names of the coordinates of y; both are numbers if not given. Without arguments:
    the first sentence of the running example. The reader sets
    ``position`` (a query), ``coordinate`` (of y) and ``off`` (the heads that are switched off);
    each can be set from Python.

    Raises ``ValueError`` if ``z``, ``W_O`` and the names do not fit each other, are not
    finite, or are more than a figure can show; ``TraitError`` for a position, a coordinate or
    a head that does not exist.

    >>> figure = OutputSum(position=1)
    >>> figure.off = [1]  # y goes on without head 1
    >>> figure.alt
    'Stacked bars for the 12 coordinates of y at position 1, one part per head (3), off: 1. ...'
    """

    z: "List[Any]" = List().tag(sync=True)
    W_O: "List[Any]" = List().tag(sync=True)
    bias: "List[Any]" = List(None, allow_none=True).tag(sync=True)
    tokens: "List[Any]" = List().tag(sync=True)
    columns: "List[Any]" = List().tag(sync=True)
    position = Int(0).tag(sync=True)
    coordinate = Int(0).tag(sync=True)
    off: "List[Any]" = List().tag(sync=True)

    def __init__(
        self,
        z: Tensor | None = None,
        W_O: nn.Linear | None = None,
        tokens: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        **chosen: Any,
    ) -> None:
        if z is None or W_O is None:
            if z is not None or W_O is not None:
                raise ValueError("z and W_O come together; pass both, or neither.")
            z, W_O, tokens = _running_example()
            columns = examples.COLUMNS if columns is None else columns
        z = one_sequence(z, W_O)
        words = _names("tokens", tokens, z.shape[1], "z", "queries")
        called = _names("columns", columns, W_O.out_features, "W_O", "coordinates")
        _small(z, W_O)
        super().__init__(
            z=z.tolist(),
            W_O=_plain(W_O.weight.T),
            bias=None if W_O.bias is None else _plain(W_O.bias),
            tokens=words,
            columns=called,
            **chosen,
        )

    @validate("position", "coordinate", "off")
    def _exists(self, proposal: Any) -> Any:
        sizes = {
            "position": len(self.tokens),
            "off": len(self.z),
            "coordinate": len(self.W_O[0]),
        }
        name, value = proposal.trait.name, proposal.value
        for index in value if name == "off" else [value]:
            if not isinstance(index, int) or not 0 <= index < sizes[name]:
                raise TraitError(f"{name}={value} is not from 0 to {sizes[name] - 1}.")
        return value

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        coordinate, head = whole(0, len(self.W_O[0]) - 1), whole(0, len(self.z) - 1)
        position = whole(0, len(self.tokens) - 1)
        return {"position": position, "coordinate": coordinate, "off": items(head, len(self.z))}

    @property
    def alt(self) -> str:
        off = f", off: {', '.join(map(str, sorted(self.off)))}" if self.off else ""
        return (
            f"Stacked bars for the {len(self.W_O[0])} coordinates of y at position "
            f"{self.position}, one part per head ({len(self.z)}){off}. The parts of a bar add "
            "up to the diamond that marks y."
        )

    def still(self) -> None:
        W_O = nn.Linear(len(self.W_O), len(self.W_O[0]), bias=self.bias is not None)
        with torch.no_grad():
            W_O.weight.copy_(torch.tensor(self.W_O).T)
            if W_O.bias is not None:
                W_O.bias.copy_(torch.tensor(self.bias))
        z = torch.tensor(self.z).index_fill(0, torch.tensor(self.off, dtype=torch.long), 0.0)
        some = range(min(len(self.W_O[0]), 16))
        plots.contributions(z, W_O, self.position, some, self.columns)


def _running_example() -> tuple[Tensor, nn.Linear, Sequence[str]]:
    attention = examples.attention().double()
    with torch.no_grad(), trace(attention) as wires:
        attention(examples.sentences()[0].double())
    return wires["z"], attention.W_O, examples.SENTENCES[0]


def _names(
    what: str, given: Sequence[str] | None, size: int, owner: str, parts: str
) -> list[str]:
    if given is None:
        return [str(i) for i in range(size)]
    if len(given) != size:
        raise ValueError(f"{owner} has {size} {parts} but there are {len(given)} {what}.")
    for name in given:
        whole_characters(what, name)
    return list(given)


def _small(z: Tensor, W_O: nn.Linear) -> None:
    n_heads, n_query, d_head = z.shape
    given = (n_heads, n_query, n_heads * d_head, W_O.out_features)
    for (what, most), size in zip(LIMITS.items(), given, strict=True):
        if size > most:
            raise ValueError(
                f"{size} {what} are more than the figure can show, {most}; "
                "cut z and W_O, or draw a part with plots.contributions."
            )
    for name, values in (("z", z), ("W_O", W_O.weight), ("the bias", W_O.bias)):
        if values is not None and not values.isfinite().all():
            raise ValueError(f"{name} has NaN or infinite numbers; look where they come from.")


def _plain(values: Tensor) -> list[Any]:
    return values.detach().cpu().double().tolist()
