"""A language model as it is built today: one stack of decoder layers, which says what follows.

Compared with the decoder of 2017 the cross-attention is gone, and every part has changed a
little: RMSNorm for LayerNorm, rotary positions for learned ones, KV heads that query heads
share, SwiGLU for ReLU, and one table that reads tokens and names them again.

Source: Touvron et al., "LLaMA", section 2.2, arXiv 2302.13971, and "Llama 2", section 2.2,
arXiv 2307.09288; Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv 1910.07467;
Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202; Press and Wolf, "Using the Output
Embedding to Improve Language Models", arXiv 1608.05859.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mhsa_book.transformer.checks import check_ids
from mhsa_lib import checks, masks
from mhsa_lib.rope.rotary import HALVES, Rotary, RotarySplit
from mhsa_lib.shapes import Tokens
from mhsa_lib.variants.grouped import GroupedQueryAttention


class SwiGLU(nn.Module):
    """Every token on its own: ``(silu(x W_gate) * x W_up) W_down``.

    Parameters
    ----------
    d_model : width of a token
    d_hidden : features between the maps

    Examples
    --------
    >>> SwiGLU(d_model=12, d_hidden=24)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(self, d_model: int, d_hidden: int) -> None:
        super().__init__()
        checks.positive(d_model=d_model, d_hidden=d_hidden)
        self.W_gate = nn.Linear(d_model, d_hidden, bias=False)
        self.W_up = nn.Linear(d_model, d_hidden, bias=False)
        self.W_down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x: Tensor) -> Tokens:
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


class RotaryLayer(nn.Module):
    """Attention with rotary positions, then SwiGLU; each reads a normalised copy and adds.

    Parameters
    ----------
    d_model, n_heads, n_kv_heads : as in ``GroupedQueryAttention``
    d_hidden : width inside SwiGLU
    base : of the rotation, as in ``Rotary``
    eps : inside the norms

    Examples
    --------
    >>> layer = RotaryLayer(d_model=12, n_heads=3, n_kv_heads=1, d_hidden=24)
    >>> layer(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_hidden: int,
        *,
        base: float = 10_000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        d_head = checks.head_width(d_model, n_heads, None)
        rotation = Rotary(d_head, base, HALVES)
        self.attention_norm = nn.RMSNorm(d_model, eps=eps)
        self.attention = GroupedQueryAttention(
            d_model, n_heads, n_kv_heads, split=RotarySplit(n_heads, rotation, n_kv_heads)
        )
        self.feed_forward_norm = nn.RMSNorm(d_model, eps=eps)
        self.feed_forward = SwiGLU(d_model, d_hidden)

    def forward(self, stream: Tensor) -> Tokens:
        stream = stream + self.attention(self.attention_norm(stream), mask=masks.causal)
        return stream + self.feed_forward(self.feed_forward_norm(stream))


class DecoderOnly(nn.Module):
    """Say for every token of a text which one comes next.

    Parameters
    ----------
    n_tokens : size of the vocabulary
    d_model : width of a token
    n_heads, n_kv_heads : query heads and KV heads of every attention; as many as query heads
        when not given
    d_hidden : width inside SwiGLU
    n_layers : number of layers
    base : of the rotation, as in ``Rotary``
    eps : inside the norms

    Raises
    ------
    ValueError : for sizes below one, or heads that do not divide; in the call, for ids that are
        not in the vocabulary
    TypeError : in the call, for ids that are no tensor of whole numbers

    Examples
    --------
    >>> model = DecoderOnly(n_tokens=9, d_model=12, n_heads=3, n_layers=2, d_hidden=24)
    >>> model(torch.tensor([[5, 3, 4]])).shape
    torch.Size([1, 3, 9])
    """

    def __init__(
        self,
        n_tokens: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_hidden: int,
        *,
        n_kv_heads: int | None = None,
        base: float = 10_000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        checks.positive(n_tokens=n_tokens, n_layers=n_layers)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        # The table also names tokens, so its rows begin short: those of nn.Embedding would make
        # the first logits as large as √d_model, and the first loss far worse than guessing.
        table = torch.empty(n_tokens, d_model).uniform_(-0.04, 0.04)
        self.embed = nn.Embedding.from_pretrained(table, freeze=False)
        self.layers = nn.ModuleList(
            RotaryLayer(d_model, n_heads, n_kv_heads, d_hidden, base=base, eps=eps)
            for _ in range(n_layers)
        )
        self.norm = nn.RMSNorm(d_model, eps=eps)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (…, seq, token) for what follows each of ``ids`` (…, seq)."""
        check_ids("ids", ids, self.embed.num_embeddings)
        stream = self.embed(ids)
        for layer in self.layers:
            stream = layer(stream)
        return self.unembed(stream)

    def unembed(self, stream: Tensor) -> Tensor:
        """Compare the normalised stream with every token: (…, d_model) to (…, token)."""
        return F.linear(self.norm(stream), self.embed.weight)
