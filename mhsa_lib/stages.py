"""The five stages, each a module; each output a named wire that tools can listen to::

    x ─project→ q k v ─split→ q_heads k_heads v_heads ─attend→ (scores → weights →) z
      ─concat→ concat ─W_O→ y

Source: Vaswani et al., section 3.2.2, arXiv 1706.03762.
"""

from typing import Any, ClassVar

from torch import Tensor, nn

from mhsa_lib import checks, functional, masks
from mhsa_lib.shapes import (
    HeadOutputs,
    HeadRows,
    Heads,
    KeyRows,
    Keys,
    Mask,
    Queries,
    QueryRows,
    Scores,
    ValueRows,
    Values,
    Weights,
)


class Stage(nn.Module):
    """A step whose outputs have names and shapes: its ``wires``, in the order of return.

    ``wires`` maps each name to its alias in ``mhsa_lib.shapes``; in any other form it raises
    ``TypeError`` when the subclass is defined. ``cached`` names those that decoding keeps for
    later tokens (``mhsa_lib.cache``).

    >>> Split.wires["q_heads"].dim_str
    '*batch head query d_head'
    """

    wires: ClassVar[dict[str, Any]] = {}
    cached: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # At the definition, because a trace far away would be the first to notice.
        _check_wires(cls.__name__, cls.wires)

    def label(self, **wires: Any) -> Any:
        """Give wires of this one stage the shapes of another width, and return the stage.

        >>> from mhsa_lib.shapes import WideHeadRows
        >>> Concat().label(concat=WideHeadRows).wires["concat"].dim_str
        '*batch query d_wide_heads'
        """
        _check_wires(type(self).__name__, wires)
        # A new dict on the instance: the class and its other instances keep theirs.
        self.wires = self.wires | wires  # type: ignore[misc]
        return self

    def named(self, output: Any) -> dict[str, Any]:
        """Return what ``forward`` returned, by the names of the wires."""
        values = output if isinstance(output, tuple) else (output,)
        if len(values) != len(self.wires):
            raise ValueError(
                f"{type(self).__name__} returned {len(values)} values, but has "
                f"{len(self.wires)} wires: {', '.join(self.wires)}; name each value."
            )
        return dict(zip(self.wires, values, strict=True))


def _check_wires(stage: str, wires: Any) -> None:
    if isinstance(wires, dict) and all(hasattr(alias, "dim_str") for alias in wires.values()):
        return
    raise TypeError(
        f"{stage}.wires is {wires!r}; write a dict that gives each output, in order, its alias "
        f'of mhsa_lib.shapes, as in wires = {{"z": HeadOutputs}}, or one like them, '
        f"Float[Tensor, '*batch query d_model']."
    )


class Wire(Stage):
    """Names a value inside a stage; an identity."""

    def __init__(self, name: str, alias: Any) -> None:
        super().__init__()
        self.wires = {name: alias}  # type: ignore[misc]

    def extra_repr(self) -> str:
        return ", ".join(self.wires)

    def forward(self, value: Tensor) -> Tensor:
        return value


def stages_of(module: nn.Module) -> dict[str, Stage]:
    """Return the stages in a module, itself included, by their path, as registered.

    >>> list(stages_of(Attend(scale=0.5)))
    ['', 'scores', 'weights']
    """
    return {path: m for path, m in module.named_modules() if isinstance(m, Stage)}


def maps_of(attention: Any) -> dict[str, nn.Linear]:
    """Return the four maps of an attention with the standard ``project``, by their names.

    >>> from mhsa_lib import MultiHeadAttention
    >>> list(maps_of(MultiHeadAttention(12, 3)))
    ['W_Q', 'W_K', 'W_V', 'W_O']
    """
    project = attention.project
    return {"W_Q": project.W_Q, "W_K": project.W_K, "W_V": project.W_V, "W_O": attention.W_O}


class Project(Stage):
    """Three linear maps of each token: its query, its key and its value.

    Parameters
    ----------
    d_model : width of a token in ``x``
    d_heads, d_kv_heads : width of ``q``, and of ``k`` and ``v``: all heads side by side
    d_context : width of a token in ``context``; d_model when not given
    bias : whether the three maps add a bias

    Examples
    --------
    >>> import torch
    >>> q, k, v = Project(12, 12, 12)(torch.zeros(2, 5, 12), torch.zeros(2, 7, 12))
    >>> q.shape, k.shape
    (torch.Size([2, 5, 12]), torch.Size([2, 7, 12]))
    """

    wires = {"q": QueryRows, "k": KeyRows, "v": ValueRows}

    def __init__(
        self,
        d_model: int,
        d_heads: int,
        d_kv_heads: int,
        *,
        d_context: int | None = None,
        bias: bool = False,
    ) -> None:
        super().__init__()
        d_context = d_model if d_context is None else d_context
        widths = {"d_heads": d_heads, "d_kv_heads": d_kv_heads, "d_context": d_context}
        checks.positive(d_model=d_model, **widths)
        self.d_model, self.d_context = d_model, d_context
        self.W_Q = nn.Linear(d_model, d_heads, bias=bias)
        self.W_K = nn.Linear(d_context, d_kv_heads, bias=bias)
        self.W_V = nn.Linear(d_context, d_kv_heads, bias=bias)

    def forward(self, x: Tensor, context: Tensor) -> tuple[QueryRows, KeyRows, ValueRows]:
        # Here, before the first product, because torch's own error would name other shapes.
        checks.tokens("x", x, self.d_model, W=self.W_Q)
        checks.tokens("context", context, self.d_context, "d_context", W=self.W_K)
        checks.same_batch(x, context)
        return self.W_Q(x), self.W_K(context), self.W_V(context)


class Split(Stage):
    """Split q, k and v into heads: a view, nothing is copied.

    >>> import torch
    >>> Split(3)(*[torch.zeros(5, 12)] * 3)[0].shape
    torch.Size([3, 5, 4])
    """

    wires = {"q_heads": Queries, "k_heads": Keys, "v_heads": Values}
    # Queries are read once, by their own tokens; keys and values by every later one.
    cached = ("k_heads", "v_heads")

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        checks.positive(n_heads=n_heads)
        self.n_heads = n_heads

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}"

    def forward(self, q: QueryRows, k: KeyRows, v: ValueRows) -> tuple[Queries, Keys, Values]:
        q_heads, k_heads, v_heads = [
            functional.split_heads(rows, self.n_heads) for rows in (q, k, v)
        ]
        return q_heads, k_heads, v_heads


class Attend(Stage):
    """Score, softmax, mix; every head on its own.

    ``score`` and ``normalise`` are the two steps that variants replace: a cap on the scores
    overrides the first, sinks or a sigmoid the second.

    Parameters
    ----------
    scale : factor on the dot products, 1/√d_head
    dropout : probability with which a weight is dropped in training, after the wire ``weights``

    Examples
    --------
    >>> import torch
    >>> Attend(scale=0.5)(*[torch.ones(3, 5, 4)] * 3, masks.causal).shape
    torch.Size([3, 5, 4])
    """

    wires = {"z": HeadOutputs}

    def __init__(self, scale: float, dropout: float = 0.0) -> None:
        super().__init__()
        checks.probability(dropout=dropout)
        self.scale = scale
        # Modules, so that tools hear the two values by hooks; they do nothing themselves.
        self.scores = Wire("scores", Scores)
        self.weights = Wire("weights", Weights)
        self.dropout = nn.Dropout(dropout)

    def extra_repr(self) -> str:
        return f"scale={self.scale:.4g}"

    # Values may be wider or narrower than queries and keys, so no alias is named for the three;
    # the shapes are checked in the steps.
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None) -> HeadOutputs:
        weights = self.attention_weights(q, k, mask)
        return functional.mix(self.dropout(weights), v)

    def attention_weights(self, q: Queries, k: Heads, mask: Any = None) -> Weights:
        """Score and normalise: how much every query of every head attends to each key."""
        scores = self.scores(self.score(q, k))
        # Resolved here, so that a `normalise` of your own gets a tensor or None.
        mask = masks.resolve(mask, scores.shape, scores.device)
        return self.weights(self.normalise(scores, mask))

    def score(self, q: Queries, k: Heads) -> Scores:
        """The scaled dot product of every query with every key."""
        return functional.score(q, k, self.scale)

    def normalise(self, scores: Scores, mask: Mask | None) -> Weights:
        """A distribution over the allowed keys for every query; ``mask`` is None or boolean."""
        return functional.softmax(scores, mask)


class Concat(Stage):
    """Concatenate the heads again: new memory, because the numbers have to be reordered.

    >>> import torch
    >>> Concat()(torch.zeros(3, 5, 4)).shape
    torch.Size([5, 12])
    """

    wires = {"concat": HeadRows}

    def forward(self, z: HeadOutputs) -> HeadRows:
        return functional.concat_heads(z)
