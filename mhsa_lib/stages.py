"""The five stages, each a module; each output a named wire that tools can listen to::

    x ─project→ q k v ─split→ q_heads k_heads v_heads ─attend→ (scores → weights →) z
      ─concat→ concat ─W_O→ y

Source: Vaswani et al., section 3.2.2, arXiv 1706.03762.
"""

from typing import Any, get_args, get_type_hints

from torch import Tensor, nn

from mhsa_lib import checks, masks
from mhsa_lib import functional as F
from mhsa_lib.shapes import (
    HeadOutputs,
    HeadRows,
    Heads,
    KeyRows,
    Keys,
    Queries,
    QueryRows,
    Scores,
    ValueRows,
    Values,
    Weights,
)


class Stage(nn.Module):
    """A step whose outputs have names: its ``wires``, in the order they are returned.

    ``cached`` names those that decoding has to keep for later tokens (``mhsa_lib.cache``).
    """

    wires: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()

    def shapes(self) -> dict[str, Any]:
        """The alias of each wire, read from the return annotation of ``forward``.

        A subclass that does not annotate it has the shapes of the class whose wires it keeps.
        Raises ``TypeError`` where there are none.

        >>> Split(3).shapes()["q_heads"].dim_str
        '*batch head query d_head'
        """
        if not self.wires:
            return {}
        kept = [kind for kind in type(self).__mro__ if getattr(kind, "wires", 0) == self.wires]
        written = [kind.__dict__["forward"] for kind in kept if "forward" in kind.__dict__]
        for forward in (self.forward, *written):
            if (returned := _returned(forward)) is not None:
                aliases = get_args(returned) if len(self.wires) > 1 else (returned,)
                if [hasattr(alias, "dim_str") for alias in aliases] == [True] * len(self.wires):
                    return dict(zip(self.wires, aliases, strict=True))
        raise TypeError(
            f"{type(self).__name__}.forward does not say the shapes of its wires "
            f"{', '.join(self.wires)}; annotate what it returns, one alias of "
            f"mhsa_lib.shapes for each wire, as in -> tuple[Queries, Keys, Values]."
        )


def _returned(forward: Any) -> Any:
    """What a function says it returns; None if it says nothing, or nothing that is known."""
    try:
        return get_type_hints(forward).get("return")
    except (NameError, TypeError):  # a name for type checkers alone; no plain function
        return None


class Wire(Stage):
    """Names a value inside a stage; an identity."""

    def __init__(self, name: str, alias: Any) -> None:
        super().__init__()
        self.wires = (name,)
        self.alias = alias

    def shapes(self) -> dict[str, Any]:
        return {self.wires[0]: self.alias}

    def extra_repr(self) -> str:
        return self.wires[0]

    def forward(self, value: Tensor) -> Tensor:
        return value


def stages_of(module: nn.Module) -> dict[str, Stage]:
    """The stages in a module by their path, itself included, in the order they are registered.

    >>> list(stages_of(Attend(scale=0.5)))
    ['', 'scores', 'weights']
    """
    return {path: m for path, m in module.named_modules() if isinstance(m, Stage)}


STAGES = ("project", "split", "attend", "concat", "W_O")
"""The parts of an attention, in the order in which its ``forward`` calls them."""


def maps_of(attention: Any) -> dict[str, nn.Linear]:
    """The four maps of an attention whose ``project`` is the standard one, by their names.

    >>> from mhsa_lib import MultiHeadAttention
    >>> list(maps_of(MultiHeadAttention(12, 3)))
    ['W_Q', 'W_K', 'W_V', 'W_O']
    """
    project = attention.project
    return {"W_Q": project.W_Q, "W_K": project.W_K, "W_V": project.W_V, "W_O": attention.W_O}


class Project(Stage):
    """Three linear maps: what each token asks, what it offers, what it hands over.

    Parameters
    ----------
    d_model : width of a token in ``x``, in columns
    d_heads : width of ``q``: all query heads side by side
    d_kv_heads : width of ``k`` and of ``v``: all key heads side by side
    d_context : width of a token in ``context``; d_model when not given
    bias : whether the three maps add a bias

    Examples
    --------
    >>> import torch
    >>> q, k, v = Project(12, 12, 12)(torch.zeros(2, 5, 12), torch.zeros(2, 7, 12))
    >>> q.shape, k.shape
    (torch.Size([2, 5, 12]), torch.Size([2, 7, 12]))
    """

    wires = ("q", "k", "v")

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
        checks.positive(d_model=d_model, d_heads=d_heads, d_kv_heads=d_kv_heads)
        checks.positive(d_context=d_context)
        self.d_model, self.d_context = d_model, d_context
        self.W_Q = nn.Linear(d_model, d_heads, bias=bias)
        self.W_K = nn.Linear(d_context, d_kv_heads, bias=bias)
        self.W_V = nn.Linear(d_context, d_kv_heads, bias=bias)

    def forward(self, x: Tensor, context: Tensor) -> tuple[QueryRows, KeyRows, ValueRows]:
        checks.tokens("x", x, self.d_model, W=self.W_Q)
        checks.tokens("context", context, self.d_context, "d_context", W=self.W_K)
        checks.same_batch(x, context)
        return self.W_Q(x), self.W_K(context), self.W_V(context)


class Split(Stage):
    """Cut q, k and v into heads: a view, nothing is copied.

    >>> import torch
    >>> Split(3)(*[torch.zeros(5, 12)] * 3)[0].shape
    torch.Size([3, 5, 4])
    """

    wires = ("q_heads", "k_heads", "v_heads")
    cached = ("k_heads", "v_heads")

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        checks.positive(n_heads=n_heads)
        self.n_heads = n_heads

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}"

    def forward(
        self,
        q: QueryRows,
        k: KeyRows,
        v: ValueRows,
    ) -> tuple[Queries, Keys, Values]:
        return (
            F.split_heads(q, self.n_heads),
            F.split_heads(k, self.n_heads),
            F.split_heads(v, self.n_heads),
        )


class Attend(Stage):
    """Score, softmax, mix; every head on its own.

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

    wires = ("z",)

    def __init__(self, scale: float, dropout: float = 0.0) -> None:
        super().__init__()
        checks.probability(dropout=dropout)
        self.scale = scale
        self.scores = Wire("scores", Scores)
        self.weights = Wire("weights", Weights)
        self.dropout = nn.Dropout(dropout)

    def extra_repr(self) -> str:
        return f"scale={self.scale:.4g}"

    def forward(self, q: Queries, k: Keys, v: Values, mask: Any = None) -> HeadOutputs:
        weights = self.look(q, k, mask)
        return F.mix(self.dropout(weights), v)

    def look(self, q: Queries, k: Heads, mask: Any = None) -> Weights:
        """Scores and softmax: the distribution of every query of every head over the keys."""
        scores = self.scores(F.score(q, k, self.scale))
        mask = masks.resolve(mask, scores.shape, scores.device)
        return self.weights(F.softmax(scores, mask))


class Concat(Stage):
    """Lay the heads side by side again: a copy, because memory has to be reordered.

    >>> import torch
    >>> Concat()(torch.zeros(3, 5, 4)).shape
    torch.Size([5, 12])
    """

    wires = ("concat",)

    def forward(self, z: HeadOutputs) -> HeadRows:
        return F.concat_heads(z)
