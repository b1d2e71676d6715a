"""Dials for every size of multi-head attention, and the shape of every wire for them."""

from functools import cache
from typing import Any

import torch
from torch import nn
from traitlets import Dict, Enum, Int, List

from mhsa_book import plots
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule
from mhsa_book.widgets.shape_tracer.recipes import recipe_of, traced_at
from mhsa_book.widgets.sizes import problem_of
from mhsa_lib import checks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.tracing.drawing import short
from mhsa_lib.tracing.wires import Wires, trace

LEARNED = {"q": "W_Q", "k": "W_K", "v": "W_V", "y": "W_O"}


class ShapeTracer(Figure):
    """Sizes to change; shapes, boxes, view or new memory, bytes, FLOPs and parameters follow.

    The reader sets the same traits as Python: ``batch``, ``seq``, ``d_model``, ``n_heads``,
    ``n_kv_heads`` (as many as ``n_heads`` moves along with it), ``d_head`` (None means
    d_model / n_heads) and ``dtype``. Sizes that do not go together are explained in the figure
    and by ``refusal``, with the repair. Raises ``TraitError`` for a size outside its dial.
    ``ShapeTracer.of(attention)`` shows any attention of the library as it was built: its own
    sizes are ``fixed``, and batch and seq have dials.

    >>> tracer = ShapeTracer(batch=2, seq=6, d_model=12, n_heads=3)
    >>> tracer.n_heads = 5  # the figure says why this does not work, and what would
    >>> tracer.refusal
    'n_heads=5 does not divide d_model=12; try d_model=10 or d_model=15, or set d_head.'
    """

    batch = Int(2, min=1, max=256).tag(sync=True)
    seq = Int(6, min=1, max=131_072).tag(sync=True)
    d_model = Int(12, min=1, max=16_384).tag(sync=True)
    n_heads = Int(3, min=1, max=128).tag(sync=True)
    n_kv_heads = Int(3, min=1, max=128).tag(sync=True)
    d_head = Int(None, min=1, max=512, allow_none=True).tag(sync=True)
    dtype = Enum(["float32", "bfloat16", "float16", "float64"], "float32").tag(sync=True)

    recipe: Any = List().tag(sync=True)
    fixed = Dict().tag(sync=True)
    colours = Dict(AXIS_COLOURS).tag(sync=True)

    def __init__(self, **sizes: Any) -> None:
        sizes.setdefault("n_kv_heads", sizes.get("n_heads", 3))
        sizes.setdefault("recipe", recipe())
        super().__init__(**sizes)
        self._attention: nn.Module | None = None
        self.observe(self._follow, "n_heads")

    def _follow(self, change: Any) -> None:
        """Keep as many heads for keys as there are, where there were as many."""
        if self.n_kv_heads == change["old"]:
            self.n_kv_heads = change["new"]

    @classmethod
    def of(cls, attention: Any, **sizes: Any) -> "ShapeTracer":
        """The wires of an attention as it was built, for any ``batch`` and ``seq``."""
        own = {"d_model": attention.d_model, "n_heads": attention.n_heads}
        recipe, fixed = recipe_of(attention)
        tracer = cls(**own, recipe=recipe, fixed=fixed, **sizes)
        tracer._attention = attention
        return tracer

    @property
    def refusal(self) -> str | None:
        """Why the library refuses these sizes, with a repair; None if it takes them."""
        if self._attention is not None:
            return None
        return problem_of(self.d_model, self.n_heads, self.n_kv_heads, self.d_head)

    def rules(self) -> dict[str, Rule]:
        """Of an attention that was built, only the sizes that it leaves open."""
        built = ("d_model", "n_heads", "n_kv_heads", "d_head") if self.fixed else ()
        return {name: rule for name, rule in super().rules().items() if name not in built}

    @property
    def alt(self) -> str:
        return (
            f"Boxes for the wires of multi-head attention with d_model {self.d_model} and "
            f"{self.n_heads} heads on {self.seq} tokens, {short(self.batch)} sequences at once."
        )

    def still(self) -> None:
        sizes = self.d_model, self.n_heads, self.d_head
        plots.pipeline(
            traced(self.batch, self.seq, self.seq, *sizes)
            if self._attention is None
            else traced_at(self._attention, self.batch, self.seq)
        )


@cache
def recipe() -> list[dict[str, Any]]:
    """Symbolic rows of the ledger: what traces of the real module say, without their sizes.

    The module is traced at sizes that are all different, so that the size over which a product
    sums, ``flops / (2 · elements)``, tells which axis it is. Traced again with one size at 1 it
    tells which copies are then views: nothing has to move when an axis holds one number.

    >>> rows = {row["wire"]: row for row in recipe()}
    >>> rows["q"]["sums"], rows["scores"]["sums"], rows["z"]["sums"], rows["y"]["sums"]
    ('d_model', 'd_head', 'key', 'd_heads')
    >>> rows["concat"]["axes"], rows["concat"]["view_at_one"]
    (['batch', 'query', 'd_heads'], ['query', 'head', 'd_head'])
    """
    sizes = {"batch": 2, "query": 5, "key": 13, "d_model": 7, "head": 3, "d_head": 11}
    wires = traced(*sizes.values())
    at_one = {axis: traced(*(sizes | {axis: 1}).values()) for axis in sizes}
    axes = {size: axis for axis, size in reversed(wires.sizes.items())}
    return [
        {
            "wire": wire,
            "axes": list(step.axes),
            "result": step.result,
            "view_at_one": [a for a in sizes if at_one[a].steps[wire].result != step.result],
            "sums": axes[step.flops // (2 * wires[wire].numel())] if step.flops else None,
            "weight": LEARNED.get(wire),
        }
        for wire, step in wires.steps.items()
    ]


def traced(
    batch: int, query: int, key: int, d_model: int, n_heads: int, d_head: int | None
) -> Wires:
    """A trace on ``device="meta"``: shapes of any size at no cost."""
    checks.positive(batch=batch, query=query, key=key)
    with torch.device("meta"):
        mha = MultiHeadAttention(d_model, n_heads, d_head=d_head)
        x, context = (torch.empty(batch, seq, d_model) for seq in (query, key))
    with torch.no_grad(), trace(mha) as wires:
        mha(x, context)
    return wires
