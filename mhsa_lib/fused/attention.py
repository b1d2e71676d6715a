"""The same function at the speed of the hardware: one QKV projection, one fused kernel.

The fused kernel never writes the (query × key) weights to memory, so there is nothing to trace
inside it; ``to_attention`` gives the five stages with the same weights. PyTorch's kernel has no
second derivatives and refuses them: ask for them inside
``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``.

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
from mhsa_lib.execution_mode import has_no_hooks, is_unmodified, refuse_unheard_hooks
from mhsa_lib.fused import kernels, ragged
from mhsa_lib.fused.call import band_only
from mhsa_lib.fused.rotation import rotated
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, SinkAttend
from mhsa_lib.rope.rotary import PartialRotary, Rotary, RotarySplit
from mhsa_lib.shapes import HeadOutputs, Heads, Keys, Queries, Tokens, Values
from mhsa_lib.stages import Wire
from mhsa_lib.variants.grouped import GroupedAttend, standard_attention

_STEPS = CappedAttend, SinkAttend
_KNOWN = copying.ROTARY | {"split.rotary": (Rotary, PartialRotary)}
_KNOWN |= {name: (*_KNOWN[name], GemmaNorm) for name in ("split.q_norm", "split.k_norm")}
_KNOWN["attend"] += _STEPS
_NEVER_CALLED = {"": GroupedAttend, "scores": Wire, "weights": Wire, "dropout": nn.Dropout}
_PLACED = "rotary", "q_norm", "k_norm"
"""What a ``RotarySplit`` does to heads, by the names it has there and here."""


def _parts_of_maps(attention: Any) -> dict[str, tuple[str, ...]]:
    """The maps of a fused attention, and those of the five stages that each is packed of."""
    if attention.d_context == attention.d_model:
        return {"W_QKV": ("W_Q", "W_K", "W_V")}
    return {"W_Q": ("W_Q",), "W_KV": ("W_K", "W_V")}


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
    rotary, q_norm, k_norm : as in ``RotarySplit``; norms only with a rotary

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
        rotary: Rotary | None = None,
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        d_head = checks.head_width(d_model, n_heads, d_head)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        checks.probability(dropout=dropout)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.n_kv_heads = n_kv_heads
        self.widths = [n * d_head for n in (n_heads, n_kv_heads, n_kv_heads)]
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
        self.scale, self.dropout, self.rotary = d_head**-0.5, dropout, rotary
        if rotary is None and (q_norm, k_norm) != (None, None):
            raise ValueError(
                f"q_norm={q_norm} and k_norm={k_norm} came without a rotary; norms are those "
                f"of a RotarySplit: pass rotary=Rotary({d_head}) too, or no norm."
            )
        self.q_norm, self.k_norm = q_norm, k_norm
        self.attend: Any = None  # with a soft cap or sinks, as ``from_attention`` finds them

    @classmethod
    def from_attention(cls, attention: MultiHeadAttention) -> "FusedMultiHeadAttention":
        """The same function, weights copied; what is frozen stays frozen.

        W_Q, W_K and W_V become one W_QKV, so all of them learn, or none. ``split`` may be a
        ``RotarySplit``, and ``attend`` one with a soft cap or sinks (``llama_stages``), whose
        weights are written for a block of queries at a time. Raises ``TypeError`` for another
        attention and ``ValueError`` for stages that are none of these or were changed.
        """
        why, repair = "has no fused form", "use the five stages, or replace that stage"
        copying.check_stages(attention, why, repair, _KNOWN)
        project = attention.project
        with torch.device("meta"):  # no number is drawn for weights that are copied
            fused = cls(
                attention.d_model,
                attention.n_heads,
                n_kv_heads=project.W_K.out_features // attention.d_head,
                d_head=attention.d_head,
                d_context=attention.d_context,
                dropout=attention.attend.dropout.p,
            )
        for name in _PLACED:
            if hasattr(attention.split, name):
                setattr(fused, name, copying.copied(getattr(attention.split, name)))
        for name, parts in _parts_of_maps(fused).items():
            maps = {part: getattr(project, part) for part in parts}
            weight, bias = _packed(maps, name, placed=fused.rotary is not None)
            copying.copy_linear(getattr(fused, name), weight, bias)
        copying.copy_linear(fused.W_O, attention.W_O.weight, attention.W_O.bias)
        fused.scale = attention.attend.scale
        if isinstance(attention.attend, _STEPS):
            fused.attend = copying.copied(attention.attend)
        return fused.train(attention.training)

    def to_attention(self) -> MultiHeadAttention:
        """The five stages with the same weights; what is frozen stays frozen.

        Raises ``TypeError`` or ``ValueError`` where something was added to this module.
        """
        known: copying.Classes = {
            "": (FusedMultiHeadAttention,),
            **dict.fromkeys([*_parts_of_maps(self), "W_O"], (nn.Linear,)),
            **{name: _KNOWN[f"split.{name}"] for name in _PLACED},
            **{"attend": _STEPS, "attend.dropout": (nn.Dropout,)},
        }
        fix = "use it as it is, fused"
        copying.check_modules(self, known, "has no form in five stages", fix)
        n_heads, n_kv_heads = self.n_heads, self.n_kv_heads
        widths = {"d_head": self.d_head, "d_context": self.d_context}
        with torch.device("meta"):
            attention = standard_attention(
                self.d_model, n_heads, n_kv_heads, dropout=self.dropout, **widths
            )
        if self.rotary is not None:
            own = {name: getattr(self, name) for name in _PLACED}
            placed: Any = {n: copying.copied(m) for n, m in own.items() if m is not None}
            attention.split = RotarySplit(n_heads, n_kv_heads=n_kv_heads, **placed)
        for name, parts in _parts_of_maps(self).items():
            maps = [getattr(attention.project, part) for part in parts]
            rows, packed = [W.out_features for W in maps], getattr(self, name)
            weights = copying.split_rows(packed.weight, rows)
            biases = copying.split_rows(packed.bias, rows)
            for W, weight, bias in zip(maps, weights, biases, strict=True):
                copying.copy_linear(W, weight, bias)
        copying.copy_linear(attention.W_O, self.W_O.weight, self.W_O.bias)
        attention.attend.scale = self.scale
        if self.attend is not None:
            attention.attend = copying.copied(self.attend)
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
        (query × key) tensor is made. With a ``rotary`` tokens are counted from 0, or from where
        their sequence ends in the cache. A pass with a cache has no gradients, and padding is
        given by ``with cache.at(positions)``. It raises ``ValueError`` for a context, several
        tokens without a mask (each would attend to later ones), another batch, dtype or device,
        no room, or positions that do not continue.
        """
        if cache is not None:
            checks.tokens("x", x, self.d_model)
            checks.a_cache(cache)
            checks.no_context(x, context)
            with torch.no_grad():
                return self._continued(x, mask, cache)
        if self.d_context == self.d_model and (context is None or context is x):
            lengths = ragged.lengths_of(mask, x)
            # What was added to a part may act on padding too.
            parts = [p for p in (self.rotary, self.q_norm, self.k_norm) if p is not None]
            plain = all(is_unmodified(W, nn.Linear) for W in (self.W_QKV, self.W_O))
            if lengths is not None and plain and all(map(has_no_hooks, parts)):
                return self._without_padding(x, mask, lengths)
        # No name holds q, k and v, so their memory is free again before W_O allocates.
        z = self._attend(*self._heads(x, context), mask)
        return self.W_O(_concat(z))

    def _continued(self, x: Tensor, mask: Any, cache: KVCache) -> Tokens:
        q, k, v = self._project(x, None)
        call = cache.begin(x.shape[:-2], x.shape[-2], x.device)
        # Keys are kept rotated, so a step rotates no key but its own.
        q, k = self._placed(q, k, call.state.ends[0] if call.even else call.positions)
        mask = call.attention_mask(mask, self.n_heads)
        z = self._attend(q, call.append("k", k), call.append("v", v), mask)
        y = self.W_O(_concat(z))
        call.commit()  # the tokens count now that nothing can fail any more
        return y

    def _without_padding(
        self, x: Tensor, mask: masks.Predicate, lengths: tuple[int, ...]
    ) -> Tokens:
        """Concatenate the real tokens of all sequences, so that no product meets padding."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        real = ragged.places(lengths, x.shape[-2], x.device)
        heads = self._heads(x.flatten(end_dim=-2)[real], None, real % x.shape[-2])
        band, each = band_only(mask), []
        for q, k, v in zip(*(t.split(lengths, dim=-2) for t in heads), strict=True):
            each.append(self._attend(q[None], k[None], v[None], band)[0])
        y = self.W_O(_concat(torch.cat(each, dim=-2)))
        return ragged.padded(y, real, x.shape[:-1], self.W_O.bias)

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Any) -> HeadOutputs:
        if self.attend is not None:
            refuse_unheard_hooks(self.attend, _NEVER_CALLED)
            return kernels.attend_by_steps(self.attend, q, k, v, mask)
        dropout = self.dropout if self.training else 0.0
        return kernels.attend(q, k, v, mask, scale=self.scale, dropout=dropout)

    def _heads(
        self, x: Tensor, context: Tensor | None, positions: Any = None
    ) -> tuple[Queries, Keys, Values]:
        q, k, v = self._project(x, context)
        return *self._placed(q, k, positions), v

    def _placed(self, q: Queries, k: Keys, positions: Any) -> tuple[Queries, Keys]:
        """Return q and k, rotated by ``positions``, or as counted from the first key."""
        if self.rotary is None:
            return q, k
        of_q, of_k = positions, positions
        if positions is None:  # the queries are the last positions of the keys
            of_q, of_k = k.shape[-2] - q.shape[-2], 0
        # The norm comes first, because its gains belong to dimensions and rotation mixes pairs.
        q = q if self.q_norm is None else self.q_norm(q)
        k = k if self.k_norm is None else self.k_norm(k)
        return rotated(self.rotary, q, of_q), rotated(self.rotary, k, of_k)

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Queries, Keys, Values]:
        """Return q, k and v as views (…, head, token, d_head) of one product, or of two."""
        checks.tokens("x", x, self.d_model, W=self.W_O)
        context = x if context is None else context
        if self.d_context == self.d_model and context is x:
            n_heads = [self.n_heads, self.n_kv_heads, self.n_kv_heads]
            q, k, v = self._split(self.W_QKV(x)).split(n_heads, dim=-3)
        else:
            rows, kv = self._project_apart(x, context)
            q, (k, v) = self._split(rows), self._split(kv).chunk(2, dim=-3)
        return q, k, v

    def _split(self, rows: Tensor) -> Heads:
        return rows.unflatten(-1, (-1, self.d_head)).transpose(-2, -3)

    def _project_apart(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        checks.tokens("context", context, self.d_context, "d_context", W=self.W_O)
        checks.same_batch(x, context)
        halves = [self.widths[0], sum(self.widths[1:])]
        if self.d_context != self.d_model:
            q, kv = self.W_Q(x), self.W_KV(context)
        elif is_unmodified(self.W_QKV, nn.Linear):
            W_Q, W_KV = self.W_QKV.weight.split(halves)
            bias = self.W_QKV.bias
            b_Q, b_KV = (None, None) if bias is None else bias.split(halves)
            q, kv = F.linear(x, W_Q, b_Q), F.linear(context, W_KV, b_KV)
        else:  # hooks and wrappers act only where the map is called as a whole
            q, _ = self.W_QKV(x).split(halves, dim=-1)
            _, kv = self.W_QKV(context).split(halves, dim=-1)
        return q, kv


def _concat(z: HeadOutputs) -> Tensor:
    # As functional.concat_heads, without the microseconds einops needs for its pattern.
    return z.transpose(-2, -3).flatten(-2)


def _packed(maps: Mapping[str, nn.Linear], name: str, *, placed: bool) -> list[Any]:
    """Return weight and bias of several linear maps stacked into one; all learn, or none."""
    packed: list[Any] = []
    for kind in ("weight", "bias"):
        parts = {f"{part}.{kind}": getattr(W, kind) for part, W in maps.items()}
        learns = {part: t is not None and t.requires_grad for part, t in parts.items()}
        # Zeros stand for a bias that is missing. They must not learn, but those of W_K may,
        # because without positions no bias of the keys changes a weight of attention.
        if not placed and "W_K.bias" in parts and parts["W_K.bias"] is None:
            del learns["W_K.bias"]
        if len(set(learns.values())) > 1:
            one = next(part for part in learns if learns[part])
            other = next(part for part in learns if not learns[part])
            state = "None" if parts[other] is None else "frozen"
            raise ValueError(
                f"{one} learns and {other} is {state}, which cannot be in one {name}: let all "
                f"of them learn, freeze them all with requires_grad_(False), or give each a "
                f"bias."
            )
        rows = [
            W.weight.new_zeros(W.out_features) if t is None else t
            for t, W in zip(parts.values(), maps.values(), strict=True)
        ]
        whole = torch.cat(rows).detach().requires_grad_(any(learns.values()))
        packed.append(None if all(t is None for t in parts.values()) else whole)
    return packed
