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
from mhsa_lib.accept import carry, kinds, known
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.cache.static import Decodes, KeyValueCache
from mhsa_lib.fused import dispatch, linear, ragged
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Tokens, Values
from mhsa_lib.trace.watched import bare
from mhsa_lib.variants.grouped import standard_attention


class FusedMultiHeadAttention(Decodes):
    """Multi-head attention with packed projections and a fused kernel.

    On a CPU in float32 a stopwatch decides, once in a process, who multiplies: PyTorch or
    oneDNN, which round differently. For the same bits in every run on one machine fix it: by
    the environment, ``MHSA_LINEAR=torch`` or ``onednn``, or with ``onednn.linear_by("torch")``.

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
        super().__init__()
        checks.probability(dropout=dropout)
        d_head = checks.head_width(d_model, n_heads, d_head)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.n_kv_heads, self.scale, self.dropout = n_kv_heads, d_head**-0.5, dropout
        self.heads = [n_heads, n_kv_heads, n_kv_heads]
        self.widths = [n * d_head for n in self.heads]
        self.d_context = d_model if d_context is None else d_context
        checks.positive(d_context=self.d_context)
        if self.d_context == d_model:
            self.W_QKV = linear.Linear(d_model, sum(self.widths), bias=bias)
        else:
            self.W_Q = linear.Linear(d_model, self.widths[0], bias=bias)
            self.W_KV = linear.Linear(self.d_context, sum(self.widths[1:]), bias=bias)
        self.W_O = linear.Linear(n_heads * d_head, d_model, bias=bias)

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
            packed = carry.packed(dict(maps[held]), f"cannot be in one {name}", repair)
            carry.copy(getattr(fused, name), *packed)
        carry.copy(fused.W_O, attention.W_O.weight, attention.W_O.bias)
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
            parts = carry.cut(packed.weight, widths), carry.cut(packed.bias, widths)
            for W, weight, bias in zip(maps[held], *parts, strict=True):
                carry.copy(W, weight, bias)
        carry.copy(attention.W_O, self.W_O.weight, self.W_O.bias)
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

    def cache(
        self,
        batch: int,
        length: int | None = None,
        *,
        window: int | None = None,
        dtype: torch.dtype | None = None,
    ) -> KeyValueCache:
        """An empty cache for ``length`` tokens of ``batch`` sequences: ``prefill``, ``step``.

        With a ``window`` it is a ring, for a text of any length. Under autocast, ``dtype`` is
        that of autocast; otherwise that of the weights, as it is when not given. ``ValueError``
        for a context of another width, whose keys do not grow.
        """
        if self.d_context != self.d_model:
            raise ValueError(
                f"a cache grows with x, but d_context={self.d_context} is not "
                f"d_model={self.d_model}; keys of a context do not change: use no cache."
            )
        weight = getattr(self.W_O, "weight", None)
        like = weight if isinstance(weight, Tensor) else next(self.parameters())
        options: dict[str, Any] = {"dtype": dtype or like.dtype, "device": like.device}
        sizes = batch, self.n_kv_heads, length, self.d_head
        return KeyValueCache(*sizes, window=window, **options)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Any = None,
        cache: KeyValueCache | None = None,
    ) -> Tokens:
        """As ``MultiHeadAttention.forward``; with a ``cache``, x continues its sequences.

        ``masks.causal``, ``sliding_window`` and ``padding`` say how far they reach, so that no
        (query × key) tensor is made, except where it is small (``kernels``). A pass with a
        cache has no gradients. It raises ``ValueError`` for a context, another batch, dtype or
        device, no room, or positions that do not continue.
        """
        if cache is None:
            return self._pass(x, context, mask)
        checks.no_context(x, context)
        if not torch.is_grad_enabled():
            return self._continued(x, mask, cache)
        with torch.no_grad():
            return self._continued(x, mask, cache)

    def _pass(self, x: Tensor, context: Tensor | None, mask: Any) -> Tokens:
        alone = context is None or context is x
        lengths = ragged.lengths_of(mask, x, self._dropout()) if alone else None
        if lengths is not None and self._is_bare():
            return self._pass_without_padding(x, mask, lengths)
        z = self._attend(*self._heads(x, context), mask)
        return self.W_O(z.transpose(-2, -3).flatten(-2))

    def _pass_without_padding(
        self, x: Tensor, mask: masks.Predicate, lengths: tuple[int, ...]
    ) -> Tokens:
        """The real tokens of all sequences as one long sequence: no product meets padding."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        real = ragged.places(lengths, x.shape[-2], x.device)
        heads = self._heads(x.flatten(end_dim=-2)[real], None)
        z = ragged.attend(*heads, lengths, mask.structure.band, spend_q=True, **self._options())
        y = self.W_O(z.transpose(-2, -3).flatten(-2))
        bias = y.new_zeros(self.d_model) if self.W_O.bias is None else self.W_O.bias.to(y)
        rows = bias.repeat(x.shape[:-1].numel(), 1)
        return rows.index_copy_(0, real, y).view(x.shape)

    def _continued(self, x: Tensor, mask: Any, cache: KeyValueCache) -> Tokens:
        q, k, v = self._heads(x, None)
        cache.begin(x)
        k, v = cache.extend(k, v)
        z = self._attend(q, k, v, cache.may_look(mask, self.n_heads))
        y = self.W_O(z.transpose(-2, -3).flatten(-2))
        cache.end()
        return y

    def _heads(self, x: Tensor, context: Tensor | None) -> tuple[Queries, Keys, Values]:
        checks.tokens("x", x, self.d_model, W=self.W_O)
        if (context is None or context is x) and not self._apart(x):
            q, k, v = self._projected(x)
        else:
            q, k, v = self._projected_apart(x, x if context is None else context)
        return q.transpose(-2, -3), k.transpose(-2, -3), v.transpose(-2, -3)

    def _projected(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = self.W_QKV(x).unflatten(-1, (-1, self.d_head))
        return rows.split(self.heads, dim=-2)

    def _projected_apart(self, x: Tensor, context: Tensor) -> tuple[Tensor, ...]:
        checks.tokens("context", context, self.d_context, "d_context", W=self.W_O)
        checks.same_batch(x, context)
        if self.d_context != self.d_model:
            maps = self.W_Q(x), *self.W_KV(context).chunk(2, dim=-1)
            return tuple(t.unflatten(-1, (-1, self.d_head)) for t in maps)
        if not bare(self.W_QKV, linear.Linear):
            return self._projected(x)[0], *self._projected(context)[1:]
        d_heads, *d_kv_heads = self.widths
        parts = [d_heads, sum(d_kv_heads)]
        W_Q, W_KV = self.W_QKV.weight.split(parts)
        bias = self.W_QKV.bias
        b_Q, b_KV = (None, None) if bias is None else bias.split(parts)
        k, v = linear.linear(context, W_KV, b_KV).chunk(2, dim=-1)
        rows = linear.linear(x, W_Q, b_Q), k, v
        return tuple(t.unflatten(-1, (-1, self.d_head)) for t in rows)

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Any) -> HeadOutputs:
        spend_q = not is_compiling() and q.shape[-2] > 1 and self._owns_q()
        return dispatch.attend(q, k, v, mask, spend_q=spend_q, **self._options())

    def _is_bare(self) -> bool:
        """Whether both maps may be read past: what hooks and wrappers add, only calls give."""
        one = self.d_context == self.d_model
        return one and all(bare(W, linear.Linear) for W in (self.W_QKV, self.W_O))

    def _apart(self, x: Tensor) -> bool:
        """Whether q is computed alone: it has to be, or z can then take its place in memory."""
        if self.d_context != self.d_model:
            return True
        if is_compiling() or x.shape[-2] < 256 or torch.is_grad_enabled():
            return False
        return x.is_cpu and bare(self.W_QKV, linear.Linear)

    def _owns_q(self) -> bool:
        """Whether nobody else holds q, as a hook could: then z may take its place in memory."""
        W = self.W_QKV if self.d_context == self.d_model else self.W_Q
        return bare(W, linear.Linear)

    def _held(self) -> dict[str, slice]:
        """Which of W_Q, W_K and W_V each map holds."""
        if self.d_context == self.d_model:
            return {"W_QKV": slice(0, 3)}
        return {"W_Q": slice(0, 1), "W_KV": slice(1, 3)}

    def _dropout(self) -> float:
        return self.dropout if self.training else 0.0

    def _options(self) -> dict[str, Any]:
        return {"scale": self.scale, "dropout": self._dropout()}


_BARE: kinds.Kinds = {
    "": (FusedMultiHeadAttention,),
    **{name: (linear.Linear,) for name in ("W_QKV", "W_Q", "W_KV", "W_O")},
}
