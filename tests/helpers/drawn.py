"""Attentions and inputs of every size, drawn by hypothesis, in float64."""

from dataclasses import dataclass
from typing import TypeVar

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from mhsa_lib import MultiHeadAttention

Module = TypeVar("Module", bound=nn.Module)


def rand(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def filled(module: Module, std: float = 0.5) -> Module:
    """The same module with new parameters: no bias, gain or map is left where it starts."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=std)
    return module


def mha(d_model: int = 12, n_heads: int = 3, **options) -> MultiHeadAttention:
    """In float64, and with biases that are not close to zero."""
    return filled(MultiHeadAttention(d_model, n_heads, **options).double())


@dataclass
class Case:
    """One attention and what goes in; ``context`` is None for self-attention."""

    attention: MultiHeadAttention
    x: Tensor
    context: Tensor | None
    batch: tuple[int, ...]
    n_query: int
    n_key: int

    @property
    def inputs(self) -> tuple[Tensor, Tensor | None]:
        return self.x, self.context

    @property
    def sizes(self) -> dict[str, int]:
        a = self.attention
        return {"d_model": a.d_model, "n_heads": a.n_heads, "d_head": a.d_head}

    def any_mask(self) -> Tensor:
        """(batch, head, query, key), about half of it allowed, some rows with nothing."""
        shape = (*self.batch, self.attention.n_heads, self.n_query, self.n_key)
        return torch.rand(shape) < 0.5


@st.composite
def cases(draw, cross: bool | None = None, max_batch_axes: int = 2) -> Case:
    size = st.integers(1, 4)
    torch.manual_seed(draw(st.integers(0, 10_000)))
    n_heads, d_head = draw(st.integers(1, 3)), draw(size)
    free = draw(st.booleans())
    d_model = draw(st.integers(1, 9)) if free else n_heads * d_head
    crossed = draw(st.booleans()) if cross is None else cross
    d_context = draw(st.integers(1, 9)) if crossed and draw(st.booleans()) else None
    widths = {"d_head": d_head if free else None, "d_context": d_context}
    attention = mha(d_model, n_heads, **widths, bias=draw(st.booleans()))
    batch = tuple(draw(st.lists(st.integers(1, 2), max_size=max_batch_axes)))
    n_query = draw(size)
    n_key = draw(size) if crossed else n_query
    x = rand(*batch, n_query, d_model)
    context = rand(*batch, n_key, attention.d_context) if crossed else None
    return Case(attention, x, context, batch, n_query, n_key)
