"""From x to q, k and v of every head by one product: W_Q, W_K and W_V as one map W_QKV.

One map where the rows are the same, of x alone. For a context, for long inputs without
gradients and for a context of another width q is computed apart from k and v.
"""

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from mhsa_lib import checks
from mhsa_lib.execution_mode import is_unmodified
from mhsa_lib.fused import linear
from mhsa_lib.shapes import Keys, Queries, Values

FEWEST_APART = 256
"""Tokens from which on, without gradients on a CPU, q is computed apart from k and v.

Rows of k and v are shorter then, and read faster: three products took 0.96 to 0.97 of the time
of one over 512 tokens, forward and training, and 1.0 elsewhere (whole modules, float32, two
cores of a Sapphire Rapids Xeon). And q is then in memory of its own, which z may take.
"""


class PackedProjection(nn.Module):
    """The parameters of a fused attention, and what q, k and v are.

    Parameters
    ----------
    d_model : width of a token, in columns
    n_heads : number of query heads
    n_kv_heads : heads of keys and values, a divisor of n_heads; n_heads when not given
    d_head : width of a head; d_model / n_heads when not given
    d_context : width of a token of ``context``; d_model when not given
    bias : whether the projections add a bias
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
    ) -> None:
        super().__init__()
        d_head = checks.head_width(d_model, n_heads, d_head)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        self.n_kv_heads = n_kv_heads
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

    def _project(self, x: Tensor, context: Tensor | None) -> tuple[Queries, Keys, Values]:
        """q, k and v as views (…, head, token, d_head) of one product, or of two."""
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
        if not is_unmodified(self.W_QKV, linear.Linear):
            return self._projected(x)[0], *self._projected(context)[1:]
        d_heads, *d_kv_heads = self.widths
        parts = [d_heads, sum(d_kv_heads)]
        W_Q, W_KV = self.W_QKV.weight.split(parts)
        bias = self.W_QKV.bias
        b_Q, b_KV = (None, None) if bias is None else bias.split(parts)
        k, v = linear.linear(context, W_KV, b_KV).chunk(2, dim=-1)
        rows = linear.linear(x, W_Q, b_Q), k, v
        return tuple(t.unflatten(-1, (-1, self.d_head)) for t in rows)

    def _is_bare(self) -> bool:
        """Whether both maps may be read past: what hooks and wrappers add, only calls give."""
        one = self.d_context == self.d_model
        return one and all(is_unmodified(W, linear.Linear) for W in (self.W_QKV, self.W_O))

    def _apart(self, x: Tensor) -> bool:
        """Whether q is computed alone: it has to be, or z can then take its place in memory."""
        if self.d_context != self.d_model:
            return True
        if is_compiling() or x.shape[-2] < FEWEST_APART or torch.is_grad_enabled():
            return False
        return x.is_cpu and is_unmodified(self.W_QKV, linear.Linear)

    def _owns_q(self) -> bool:
        """Whether nobody else holds q, as a hook could: then z may take its place in memory."""
        W = self.W_QKV if self.d_context == self.d_model else self.W_Q
        return is_unmodified(W, linear.Linear)

    def _held(self) -> dict[str, slice]:
        """Which of W_Q, W_K and W_V each map holds."""
        if self.d_context == self.d_model:
            return {"W_QKV": slice(0, 3)}
        return {"W_Q": slice(0, 1), "W_KV": slice(1, 3)}
