"""Multi-head attention in one file: five stages, masks, shared heads, positions and a cache.

It needs torch (2.5 or later) alone: copy it into a project and change it.

>>> attention = MultiHeadAttention(d_model=12, n_heads=3)
>>> attention(torch.randn(2, 5, 12), causal=True).shape
torch.Size([2, 5, 12])

Sources: Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, section 3.2; shared
heads: Ainslie et al., "GQA", arXiv 2305.13245, section 2.2; rotary positions: Su et al.,
"RoFormer", arXiv 2104.09864, section 3.4; QK-norm: Henry et al., arXiv 2010.04245; window:
Beltagy et al., "Longformer", arXiv 2004.05150, section 3.1.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


def causal_mask(
    n_query: int, n_key: int, window: int | None = None, device: torch.device | None = None
) -> Tensor:
    """True for *may look*, (1, 1, n_query, n_key): the queries are the last of the tokens.

    No query sees a later token, and with a ``window`` only so many, itself among them.

    >>> causal_mask(2, 4).int().tolist()
    [[[[1, 1, 1, 0], [1, 1, 1, 1]]]]
    >>> causal_mask(2, 4, window=2).int().tolist()
    [[[[0, 1, 1, 0], [0, 0, 1, 1]]]]
    """
    may_look = torch.ones(1, 1, n_query, n_key, dtype=torch.bool, device=device)
    may_look = may_look.tril(n_key - n_query)
    return may_look if window is None else may_look.triu(n_key - n_query - window + 1)


def padding_mask(lengths: Tensor, n_key: int) -> Tensor:
    """True for keys that are tokens, (batch, 1, 1, n_key); padding stands at the end.

    >>> padding_mask(torch.tensor([1, 3]), 3).int().tolist()
    [[[[1, 0, 0]]], [[[1, 1, 1]]]]
    """
    places = torch.arange(n_key, device=lengths.device)
    return (places < lengths[:, None])[:, None, None]


def rotate(heads: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rotate pairs of columns by their position, so that scores depend on distances.

    heads : (batch, head, token, d_head); column c is paired with c + d_head / 2, as in Llama
    positions : (token,) or (batch, token)

    >>> rotate(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([0]), base=10_000.0).tolist()
    [[[[1.0, 0.0]]]]
    """
    half = heads.shape[-1] // 2
    # At least float32: in bfloat16, positions 256 and 257 are the same number.
    dtype = torch.promote_types(heads.dtype, torch.float32)
    speeds = base ** (-torch.arange(half, device=heads.device, dtype=dtype) / half)
    angles = positions.to(dtype)[..., None, :, None] * speeds  # (batch, 1, token, half)
    cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
    a, b = heads.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Share of every key for every query, (batch, head, query, key); zeros if it may see none.

    >>> attention_weights(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 2, 4)).tolist()
    [[[[0.5, 0.5]]]]
    """
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is None:
        return scores.softmax(dim=-1)
    blind = ~mask.any(dim=-1, keepdim=True)  # no key at all: 0/0, unless it is spared here
    scores = scores.masked_fill(~mask & ~blind, -torch.inf)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


class Cache:
    """Keys and values of the tokens so far, for one layer and up to ``max_length`` tokens.

    ``length`` says how many there are; set it lower to take the last ones back. After a change
    of the weights, begin with a new cache.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length, self.length = max_length, 0
        # Whether some call had a mask, or positions: later ones then need them too.
        self.masked = self.placed = False
        self.layer: Callable[[], nn.Module | None] = lambda: None
        self.k = self.v = torch.empty(0)

    def extended(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values with new ones behind them; they count once ``length`` says so."""
        n = self.length + k.shape[2]
        if n > self.max_length:
            raise ValueError(f"{n} tokens do not fit; make it Cache({n}) or larger.")
        shape = (*k.shape[:2], self.max_length, k.shape[3])
        if self.length == 0:
            self.k, self.v = k.new_empty(shape), v.new_empty(shape)
        has, needs = (self.k.shape, self.k.dtype, self.k.device), (shape, k.dtype, k.device)
        if has != needs:
            raise ValueError(f"the cache is {has}, these keys are {needs}; take a new Cache.")
        self.k[:, :, self.length : n], self.v[:, :, self.length : n] = k, v
        return self.k[:, :, :n], self.v[:, :, :n]


class MultiHeadAttention(nn.Module):
    """Attention with ``n_heads`` heads, each ``d_head`` wide.

    d_model : width of the tokens, in and out
    n_heads : heads of queries
    n_kv_heads : heads of keys and values, shared by neighbouring query heads; all, if None
    d_head : width of a head; ``d_model / n_heads``, if None
    bias : whether the four maps add one
    dropout : share of the weights that is left out in training
    scale : factor of the scores; ``1 / sqrt(d_head)``, if None
    rope_base : rotates queries and keys by their positions, 10,000 in the paper; not, if None
    qk_norm : called with ``d_head``, makes the norm of queries and of keys, such as nn.RMSNorm
    window : tokens that a query sees, itself and those just before it; all, if None

    Raises ``ValueError`` if the heads cannot share the columns, or the key heads. Token by
    token with a cache, the numbers of one causal pass come out:

    >>> x, attention = torch.randn(1, 4, 8), MultiHeadAttention(8, n_heads=4, n_kv_heads=2)
    >>> cache = Cache(max_length=4)
    >>> with torch.no_grad():
    ...     steps = [attention(x[:, i : i + 1], cache=cache) for i in range(4)]
    >>> torch.allclose(torch.cat(steps, dim=1), attention(x, causal=True), atol=1e-6)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        *,
        d_head: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        scale: float | None = None,
        rope_base: float | None = None,
        qk_norm: Callable[[int], nn.Module] | None = None,
        window: int | None = None,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or (d_head is None and d_model % n_heads):
            raise ValueError(f"n_heads={n_heads} does not divide {d_model}; or give a d_head.")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads={n_kv_heads} does not divide {n_heads}; it has to.")
        d_head = d_model // n_heads if d_head is None else d_head
        if rope_base is not None and d_head % 2:
            raise ValueError(f"d_head={d_head} is odd; rotary positions need pairs of columns.")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout} is a share; take 0 or more, and less than 1.")
        if window is not None and window < 1:
            raise ValueError(f"window={window} leaves no token to see; take 1 or more.")
        self.n_heads, self.n_kv_heads, self.d_head = n_heads, n_kv_heads, d_head
        self.dropout, self.scale = dropout, scale
        self.rope_base, self.window = rope_base, window
        self.W_Q = nn.Linear(d_model, n_heads * d_head, bias=bias)
        self.W_K = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.W_V = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.W_O = nn.Linear(n_heads * d_head, d_model, bias=bias)
        self.q_norm = nn.Identity() if qk_norm is None else qk_norm(d_head)
        self.k_norm = nn.Identity() if qk_norm is None else qk_norm(d_head)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Let every token of ``x`` (batch, query, d_model) look at ``context``, or at ``x``.

        ``mask`` is boolean, True for *may look*, with four axes: (batch, head, query, key), of
        which all but the last may be 1. ``causal`` hides later tokens as well. With a ``cache``
        the tokens of ``x`` come behind those it has, and the keys are all of these. The
        ``positions``, (query,) or (batch, query), count on from the cache if not given.
        Raises ``ValueError`` or ``TypeError`` for what would run and be wrong.
        """
        q, k, v, seen = self.project(
            x, context, mask, causal=causal, positions=positions, cache=cache
        )
        # The kernel knows the triangle of a whole text itself, and then reads no table of it.
        own_triangle = causal and seen is None and q.shape[2] == k.shape[2]
        z = scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=seen,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=own_triangle,
            scale=self.scale,
            enable_gqa=self.n_kv_heads < self.n_heads,  # shares the key heads, copies nothing
        )
        if mask is not None and seen is not None:  # only a caller's mask can hide all keys
            z = z.masked_fill(~seen.any(dim=-1, keepdim=True), 0.0)
        y = self.W_O(self.concat(z))
        if cache is not None:  # nothing has failed: now the new tokens count
            begun = cache.length > 0
            cache.masked = mask is not None or (begun and cache.masked)
            cache.placed = positions is not None or (begun and cache.placed)
            cache.layer = weakref.ref(self)
            cache.length += x.shape[1]
        return y

    def weights(self, x: Tensor, *args: Tensor | None, **options: Any) -> Tensor:
        """The weights (batch, head, query, key) of the same call; the kernel never writes them.

        Takes what ``forward`` takes. A cache stays as it is, so ask before the step itself.
        """
        q, k, _, seen = self.project(x, *args, **options)
        if options.get("causal") and seen is None:
            seen = causal_mask(q.shape[2], k.shape[2], device=q.device)
        k = k.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
        return attention_weights(q, k, seen, self.scale)

    def project(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Project and split: q, k and v, each (batch, head, token, d_head), and one mask.

        There is no mask where every query may see every key, nor for a whole causal text.
        """
        _check_call(self, x, context, mask, causal, positions, cache)
        n_query, past = x.shape[1], 0 if cache is None else cache.length
        n_key = past + n_query if context is None else context.shape[1]
        if mask is not None:
            _check_mask(mask, (x.shape[0], self.n_heads, n_query, n_key))
        context = x if context is None else context
        q = self.q_norm(self.split(self.W_Q(x), self.n_heads))
        k = self.k_norm(self.split(self.W_K(context), self.n_kv_heads))
        v = self.split(self.W_V(context), self.n_kv_heads)
        if self.rope_base is not None:
            if positions is None:
                positions = torch.arange(past, past + n_query, device=x.device)
            q, k = (rotate(heads, positions, self.rope_base) for heads in (q, k))
        if cache is not None:
            if k.requires_grad or v.requires_grad:
                raise ValueError(
                    "the cache would keep the graph of every step; call under torch.no_grad()."
                )
            k, v = cache.extended(k, v)
        if self.window is not None:
            # No query of this call sees a key before these.
            in_reach = n_query + self.window - 1
            k, v = k[:, :, -in_reach:], v[:, :, -in_reach:]
            mask = mask if mask is None else mask[..., -in_reach:]
        n_key = k.shape[2]
        all_in_window = self.window is None or n_key <= self.window
        whole_text = mask is None and n_query == n_key and all_in_window
        if causal and n_query > 1 and not whole_text:
            past_keys = causal_mask(n_query, n_key, self.window, x.device)
            mask = past_keys if mask is None else mask & past_keys
        return q, k, v, mask

    @staticmethod
    def split(rows: Tensor, n_heads: int) -> Tensor:
        """Cut rows (batch, token, columns) into heads: (batch, head, token, d_head)."""
        return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    @staticmethod
    def concat(z: Tensor) -> Tensor:
        """Lay the heads of a token side by side again: (batch, token, columns)."""
        return z.transpose(1, 2).flatten(2)


# --- what would run and be wrong is refused -------------------------------------------------


def _check_call(
    attention: MultiHeadAttention,
    x: Tensor,
    context: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    positions: Tensor | None,
    cache: Cache | None,
) -> None:
    for name, tokens in (("x", x), ("context", x if context is None else context)):
        if tokens.ndim != 3 or tokens.shape[0] != x.shape[0]:
            raise ValueError(
                f"{name} has the shape {tuple(tokens.shape)}; it has to be (batch, token, "
                f"d_model), with the batch of x: add that axis with {name}[None]."
            )
    batch, n, _ = x.shape
    window, rotates = attention.window, attention.rope_base is not None
    keeps = cache is not None
    ordered = causal or (keeps and n == 1)
    if context is not None and (causal or keeps or rotates):
        raise ValueError(
            "causal, cache and rope_base need one text; leave out context or them."
        )
    if window is not None and not ordered:
        raise ValueError(f"window={window} looks back; pass causal=True.")
    if keeps and not ordered:
        raise ValueError(f"{n} tokens at once would see their future; pass causal=True.")
    if positions is not None and not rotates:
        raise ValueError("positions change nothing without rope_base; leave them out.")
    if positions is not None and positions.shape not in ((n,), (batch, n)):
        raise ValueError(f"positions are {tuple(positions.shape)}, not {(n,)} or {(batch, n)}.")
    begun = cache if cache is not None and cache.length > 0 else None
    if begun is not None and begun.layer() is not attention:
        raise ValueError("this cache has the keys of another layer; make one for each.")
    hides = mask is not None or (begun is not None and begun.masked)
    if hides and mask is None:
        raise ValueError(
            "an earlier call hid keys of this cache; pass a mask over all of them."
        )
    placed = begun is not None and (hides or begun.placed)
    if placed and rotates and positions is None:
        raise ValueError("a token's place in this cache is not its position; pass positions.")
    if hides and keeps and window is not None:
        raise ValueError("a window counts padding in a cache too; decode each text by itself.")


def _check_mask(mask: Tensor, full: tuple[int, int, int, int]) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(f"mask is {mask.dtype}; make it boolean, True for may look.")
    fits = mask.ndim == 4 and mask.shape[-1] == full[-1]
    if not fits or any(
        n not in (1, wanted) for n, wanted in zip(mask.shape, full, strict=True)
    ):
        raise ValueError(
            f"mask has the shape {tuple(mask.shape)}; it has to be {full}, of which all but "
            "the last may be 1: (query, key) becomes mask[None, None], (batch, key) "
            "mask[:, None, None], (batch, query, key) mask[:, None]."
        )
