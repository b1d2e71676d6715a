"""The same function at the speed of the hardware: one QKV projection, one fused kernel.

The fused kernel never writes the (query × key) weights to memory, so there is nothing to trace
inside it; ``to_attention`` gives the five stages with the same weights. Recorded by
``torch.compile``, ``torch.export`` or ``torch.jit.trace``, transformed by ``torch.func``, or
with hooks on its maps, it stays the same function. PyTorch's kernel has no second derivatives
and refuses them: ask for them inside ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``.

Source: Dao et al., "FlashAttention", arXiv 2205.14135.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_lib import checks, copying, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.cache.memory import KVCache
from mhsa_lib.execution_mode import is_unmodified
from mhsa_lib.fused import kernels, ragged
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Tokens, Values
from mhsa_lib.variants.grouped import standard_attention


class FusedMultiHeadAttention(nn.Module):
    """Multi-head attention with packed projections and a fused kernel.

    The same call gives the same bits in every run on one machine.

    Parameters
    ----------
    d_model : width of a token
    n_heads : number of query heads
    n_kv_heads : KV heads, a divisor of n_heads; n_heads when not given
    d_head : width of a head; d_model / n_heads when not given
    d_context : width of a token of ``context``; d_model when not given. With another width a
        context has to be given in every call, and ``W_Q`` and ``W_KV`` replace ``W_QKV``
    bias : whether the projections add a bias
    dropout : probability of dropping an attention weight in training

    Examples
    --------
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> y = FusedMultiHeadAttention.from_attention(mha)(x, mask=masks.causal)
    >>> torch.allclose(y, mha(x, mask=masks.causal), atol=1e-6)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        d_context: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_head = checks.head_width(d_model, n_heads, d_head)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        checks.probability(dropout=dropout)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.n_kv_heads = n_kv_heads
        self.heads = [n_heads, n_kv_heads, n_kv_heads]
        self.widths = [n * d_head for n in self.heads]
        self.d_context = d_model if d_context is None else d_context
        checks.positive(d_context=self.d_context)
        # W_Q, W_K and W_V read the same rows, so one wide product does the work of three. Of
        # a context of another width only k and v are made.
        if self.d_context == d_model:
            self.W_QKV = nn.Linear(d_model, sum(self.widths), bias=bias)
        else:
            self.W_Q = nn.Linear(d_model, self.widths[0], bias=bias)
            self.W_KV = nn.Linear(self.d_context, sum(self.widths[1:]), bias=bias)
        self.W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)
        self.scale, self.dropout = d_head**-0.5, dropout

    @classmethod
    def from_attention(cls, attention: MultiHeadAttention) -> "FusedMultiHeadAttention":
        """The same function, weights copied; what is frozen stays frozen.

        The stages must be the standard ones, with nothing added to them (``known``). W_Q, W_K
        and W_V become one W_QKV, so all of them learn, or none. Raises ``TypeError`` for
        another attention and ``ValueError`` for what the fused one has no place for.
        """
        why, repair = "has no fused form", "use the five stages, or replace that stage"
        copying.check_stages(attention, why, repair)
        project = attention.project
        fused = cls(
            attention.d_model,
            attention.n_heads,
            n_kv_heads=project.W_K.out_features // attention.d_head,
            d_head=attention.d_head,
            d_context=attention.d_context,
            dropout=attention.attend.dropout.p,
        ).to(project.W_Q.weight)
        maps = [(name, getattr(project, name)) for name in ("W_Q", "W_K", "W_V")]
        repair = "let all of them learn, freeze them all with requires_grad_(False), or give"
        repair += " each a bias"
        for name, held in fused._held().items():
            packed = _packed(dict(maps[held]), f"cannot be in one {name}", repair)
            copying.copy_linear(getattr(fused, name), *packed)
        copying.copy_linear(fused.W_O, attention.W_O.weight, attention.W_O.bias)
        fused.scale = attention.attend.scale
        return fused.train(attention.training)

    def to_attention(self) -> MultiHeadAttention:
        """The five stages with the same weights; what is frozen stays frozen.

        Raises ``TypeError`` or ``ValueError`` where something was added to this module.
        """
        copying.check_modules(
            self, _BARE, "has no form in five stages", "use it as it is, fused"
        )
        options: dict[str, Any] = {
            "d_head": self.d_head,
            "d_context": self.d_context,
            "dropout": self.dropout,
        }
        sizes = self.d_model, self.n_heads, self.n_kv_heads
        attention = standard_attention(*sizes, **options).to(self.W_O.weight)
        project = attention.project
        maps = project.W_Q, project.W_K, project.W_V
        for name, held in self._held().items():
            packed, widths = getattr(self, name), self.widths[held]
            parts = (
                copying.split_rows(packed.weight, widths),
                copying.split_rows(packed.bias, widths),
            )
            for W, weight, bias in zip(maps[held], *parts, strict=True):
                copying.copy_linear(W, weight, bias)
        copying.copy_linear(attention.W_O, self.W_O.weight, self.W_O.bias)
        attention.attend.scale = self.scale
        return attention.train(self.training)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Any = None,
        cache: KVCache | None = None,
    ) -> Tokens:
        """As ``MultiHeadAttention.forward``; with a ``cache``, x continues its sequences.

        ``masks.causal``, ``sliding_window`` and ``padding`` say how far they reach, so that no
        (query × key) tensor is made, except where it is small (``kernels``). A pass with a
        cache has no gradients; several tokens need a mask, and padding is given by
        ``with cache.at(positions)``. It raises ``ValueError`` for a context, several tokens
        without a mask (each would attend to later ones), another batch, dtype or device, no
        room, or positions that do not continue.
        """
        if cache is not None:
            checks.no_context(x, context)
            if not torch.is_grad_enabled():
                return self._continued(x, mask, cache)
            with torch.no_grad():
                return self._continued(x, mask, cache)
        alone = context is None or context is x
        lengths = ragged.lengths_of(mask, x, self._dropout()) if alone else None
        if lengths is not None and self._is_bare():
            return self._without_padding(x, mask, lengths)
        # No name holds q, k and v, so their memory is free again before W_O allocates.
        z = self._attend(*self._project(x, context), mask)
        return self.W_O(_concat(z))

    def _continued(self, x: Tensor, mask: Any, cache: KVCache) -> Tokens:
        """A pass over new tokens, which counts when W_O too has ended without an error."""
        q, k, v = self._project(x, None)
        call = cache.begin(x.shape[:-2], x.shape[-2], x.device)
        mask = call.attention_mask(mask, self.n_heads)
        z = self._attend(q, call.append("k", k), call.append("v", v), mask)
        y = self.W_O(_concat(z))
        call.commit()
        return y

    def _without_padding(
        self, x: Tensor, mask: masks.Predicate, lengths: tuple[int, ...]
    ) -> Tokens:
        """Concatenate the real tokens of all sequences, so that no product meets padding."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        real = ragged.places(lengths, x.shape[-2], x.device)
        q, k, v = self._project(x.flatten(end_dim=-2)[real], None)
        options: dict[str, Any] = {"scale": self.scale, "dropout": self._dropout()}
        z = kernels.attend(q, k, v, mask, lengths=lengths, **options)
        return ragged.padded(self.W_O(_concat(z)), real, x.shape[:-1], self.W_O.bias)

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Any) -> HeadOutputs:
        return kernels.attend(q, k, v, mask, scale=self.scale, dropout=self._dropout())

    def _dropout(self) -> float:
        return self.dropout if self.training else 0.0

    # --- projection ------------------------------------------------------------------------

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Queries, Keys, Values]:
        """Return q, k and v as views (…, head, token, d_head) of one product, or of two."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        if self.d_context == self.d_model and (context is None or context is x):
            q, k, v = self._project_together(x)
        else:
            q, k, v = self._project_apart(x, x if context is None else context)
        return q.transpose(-2, -3), k.transpose(-2, -3), v.transpose(-2, -3)

    def _project_together(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = self.W_QKV(x).unflatten(-1, (-1, self.d_head))
        return rows.split(self.heads, dim=-2)

    def _project_apart(self, x: Tensor, context: Tensor) -> tuple[Tensor, ...]:
        checks.tokens("context", context, self.d_context, "d_context", W=self.W_O)
        checks.same_batch(x, context)
        if self.d_context != self.d_model:
            rows = self.W_Q(x), *self.W_KV(context).chunk(2, dim=-1)
        elif is_unmodified(self.W_QKV, nn.Linear):
            parts = [self.widths[0], sum(self.widths[1:])]
            W_Q, W_KV = self.W_QKV.weight.split(parts)
            bias = self.W_QKV.bias
            b_Q, b_KV = (None, None) if bias is None else bias.split(parts)
            rows = F.linear(x, W_Q, b_Q), *F.linear(context, W_KV, b_KV).chunk(2, dim=-1)
        else:  # hooks and wrappers act only where the map is called as a whole
            return self._project_together(x)[0], *self._project_together(context)[1:]
        return tuple(t.unflatten(-1, (-1, self.d_head)) for t in rows)

    def _is_bare(self) -> bool:
        """Say whether the weights of both maps may be read without calling the maps."""
        one = self.d_context == self.d_model
        return one and all(is_unmodified(W, nn.Linear) for W in (self.W_QKV, self.W_O))

    def _held(self) -> dict[str, slice]:
        """Return which of W_Q, W_K and W_V each map holds."""
        if self.d_context == self.d_model:
            return {"W_QKV": slice(0, 3)}
        return {"W_Q": slice(0, 1), "W_KV": slice(1, 3)}


def _concat(z: HeadOutputs) -> Tensor:
    """As ``functional.concat_heads``, without the microseconds einops needs for its pattern."""
    return z.transpose(-2, -3).flatten(-2)


_BARE: copying.Classes = {
    "": (FusedMultiHeadAttention,),
    **{name: (nn.Linear,) for name in ("W_QKV", "W_Q", "W_KV", "W_O")},
}


def _packed(maps: Mapping[str, nn.Linear], action: str, fix: str) -> list[Any]:
    """Weight and bias of several linear maps stacked into one; all of them learn, or none.

    Zeros stand for a bias that is missing while others are there. They must not learn; those
    of W_K may, because no bias of the keys changes a weight of attention.

    >>> maps = {"one": nn.Linear(2, 3), "two": nn.Linear(2, 4)}
    >>> weight, bias = _packed(maps, "…", "…")
    >>> weight.shape, bias.requires_grad
    (torch.Size([7, 2]), True)
    """
    found: list[Any] = []
    for part in ("weight", "bias"):
        given = {name: getattr(W, part) for name, W in maps.items()}
        there = {f"{name}.{part}": t for name, t in given.items() if t is not None}
        absent = [f"{name}.{part}" for name, t in given.items() if t is None]
        learn = {name for name, t in there.items() if t.requires_grad}
        still = there.keys() - learn or {name for name in absent if name != "W_K.bias"}
        if learn and still:
            state = "frozen" if min(still) in there else "None"
            raise ValueError(
                f"{min(learn)} learns and {min(still)} is {state}, which {action}: {fix}."
            )
        rows = [
            W.weight.new_zeros(W.out_features) if given[name] is None else given[name]
            for name, W in maps.items()
        ]
        whole = torch.cat(rows).detach().requires_grad_(bool(learn)) if there else None
        found.append(whole)
    return found
