"""The same function at the speed of the hardware: one QKV product, one fused kernel.

``F.scaled_dot_product_attention`` never writes the (query × key) weights to memory, so there is
nothing to trace inside it; ``to_attention`` gives the five stages with the same weights.

It is the same function however it is used: recorded for any length, by ``torch.compile``,
``torch.export`` or ``torch.jit.trace``; under ``torch.func`` and forward-mode differentiation,
where weights are written; with hooks on its maps, or wrappers around them. PyTorch's kernel has
no second derivatives and refuses them: ask in a block
``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``.

Source: Dao et al., "FlashAttention", arXiv 2205.14135.
"""

from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from mhsa_lib import checks, masks
from mhsa_lib.accept import kinds, known, parameters
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.cache.memory import KVCache
from mhsa_lib.fused import dispatch, linear, ragged
from mhsa_lib.fused.projection import PackedProjection
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Tokens, Values
from mhsa_lib.variants.grouped import standard_attention


class FusedMultiHeadAttention(PackedProjection):
    """Multi-head attention with packed projections and a fused kernel.

    On a CPU in float32 a stopwatch decides, once in a process, who multiplies: PyTorch or
    oneDNN, which round differently. For the same bits in every run on one machine fix it: by
    the environment, ``MHSA_LINEAR=torch`` or ``onednn``, or with ``fused.linear_by("torch")``.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : number of query heads
    n_kv_heads : heads of keys and values, a divisor of n_heads; n_heads when not given
    d_head : width of a head; d_model / n_heads when not given
    d_context : width of a token of ``context``; d_model when not given. Of another width it has
        to be given in every call, and ``W_Q`` and ``W_KV`` take the place of ``W_QKV``
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
        sizes: dict[str, Any] = {"n_kv_heads": n_kv_heads, "d_head": d_head}
        super().__init__(d_model, n_heads, **sizes, d_context=d_context, bias=bias)
        checks.probability(dropout=dropout)
        self.scale, self.dropout = self.d_head**-0.5, dropout

    @classmethod
    def from_attention(cls, attention: MultiHeadAttention) -> "FusedMultiHeadAttention":
        """The same function, weights copied; what is frozen stays frozen.

        The stages must be the standard ones, with nothing added to them (``known``). W_Q, W_K
        and W_V become one W_QKV, so all of them learn, or none. Raises ``TypeError`` for
        another attention and ``ValueError`` for what the fused one has no place for.
        """
        why, repair = "has no fused form", "use the five stages, or replace that stage"
        known.stages(attention, why, repair)
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
            packed = parameters.packed(dict(maps[held]), f"cannot be in one {name}", repair)
            parameters.copy(getattr(fused, name), *packed)
        parameters.copy(fused.W_O, attention.W_O.weight, attention.W_O.bias)
        fused.scale = attention.attend.scale
        return fused.train(attention.training)

    def to_attention(self) -> MultiHeadAttention:
        """The five stages with the same weights; what is frozen stays frozen.

        Raises ``TypeError`` or ``ValueError`` where something was added to this module.
        """
        known.only(self, _BARE, "has no form in five stages", "use it as it is, fused")
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
            parts = parameters.cut(packed.weight, widths), parameters.cut(packed.bias, widths)
            for W, weight, bias in zip(maps[held], *parts, strict=True):
                parameters.copy(W, weight, bias)
        parameters.copy(attention.W_O, self.W_O.weight, self.W_O.bias)
        attention.attend.scale = self.scale
        return attention.train(self.training)

    def pack(self) -> "FusedMultiHeadAttention":
        """Lay the weights out for calls of a few tokens, which without gradients get faster.

        Each copy takes as much memory as its weight. It is made again after an optimizer step,
        ``load_state_dict``, ``to``, and for other parameters; weights that are computed or of
        inference mode are never packed. What PyTorch does not count goes unnoticed, a change in
        place through ``weight.data``, NumPy or another process: pack again. ``TypeError`` for a
        map that something is wrapped around.
        """
        maps = {name: getattr(self, name) for name in (*self._held(), "W_O")}
        for name, W in maps.items():
            if not isinstance(W, linear.Linear):
                raise TypeError(
                    f"{name} is a {type(W).__name__}, which cannot be packed; merge what was "
                    f"wrapped around it first."
                )
        for W in maps.values():
            W.pack()
        return self

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Any = None,
        cache: KVCache | None = None,
    ) -> Tokens:
        """As ``MultiHeadAttention.forward``; with a ``cache``, x continues its sequences.

        ``masks.causal``, ``sliding_window`` and ``padding`` say how far they reach, so that no
        (query × key) tensor is made, except where it is small (``dispatch``). A pass with a
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
        # Named nowhere, q, k and v give their memory back before W_O asks for some.
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
        """The real tokens of all sequences end to end: no product meets padding."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        real = ragged.places(lengths, x.shape[-2], x.device)
        q, k, v = self._project(x.flatten(end_dim=-2)[real], None)
        options: dict[str, Any] = {"scale": self.scale, "dropout": self._dropout()}
        z = dispatch.attend(q, k, v, mask, lengths=lengths, spend_q=True, **options)
        return ragged.padded(self.W_O(_concat(z)), real, x.shape[:-1], self.W_O.bias)

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Any) -> HeadOutputs:
        spend_q = not is_compiling() and q.shape[-2] > 1 and self._owns_q()
        return dispatch.attend(
            q, k, v, mask, scale=self.scale, dropout=self._dropout(), spend_q=spend_q
        )

    def _dropout(self) -> float:
        return self.dropout if self.training else 0.0


def _concat(z: HeadOutputs) -> Tensor:
    """As ``functional.concat_heads``, without its few microseconds for reading a pattern."""
    return z.transpose(-2, -3).flatten(-2)


_BARE: kinds.Kinds = {
    "": (FusedMultiHeadAttention,),
    **{name: (linear.Linear,) for name in ("W_QKV", "W_Q", "W_KV", "W_O")},
}
