"""Solutions to print, in plain torch: one of many ways to write each."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Pieces of every row, then heads before tokens."""
    batch, seq, d_model = x.shape
    return x.reshape(batch, seq, n_heads, d_model // n_heads).transpose(1, 2)


def concat_heads(z: Tensor) -> Tensor:
    """Tokens before heads, then the heads of a token in a row."""
    batch, n_heads, seq, d_head = z.shape
    return z.transpose(1, 2).reshape(batch, seq, n_heads * d_head)


def score(q: Tensor, k: Tensor, scale: float) -> Tensor:
    """Every query with every key."""
    return q @ k.transpose(-2, -1) * scale


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Hidden scores become −∞ where a row has a key; rows without one become zeros."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~empty, -torch.inf)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def causal_mask(n_query: int, n_key: int) -> Tensor:
    """The last query sees all keys, the one before it all but one, and so on."""
    first = n_key - n_query
    return torch.arange(n_key) <= torch.arange(first, n_key)[:, None]


def padding_mask(lengths: list[int], n_key: int) -> Tensor:
    """A key is a word if it stands before the end; axes for heads and queries between."""
    real = torch.arange(n_key) < torch.tensor(lengths)[:, None]
    return real[:, None, None, :]


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Scores, shares, mean of the values."""
    return softmax(score(q, k, 1 / math.sqrt(q.shape[-1])), mask) @ v


def multi_head_attention(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
    mask: Tensor | None,
) -> Tensor:
    """Project, split, attend, concat, W_O."""
    q, k, v = (split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return concat_heads(attend(q, k, v, mask)) @ W_O


def kv_cache_step(
    x: Tensor,
    k: Tensor,
    v: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The new key and value go behind the old ones; the new query sees all of them."""
    k = torch.cat([k, split_heads(x @ W_K, n_heads)], dim=2)
    v = torch.cat([v, split_heads(x @ W_V, n_heads)], dim=2)
    z = attend(split_heads(x @ W_Q, n_heads), k, v, None)
    return concat_heads(z) @ W_O, k, v


def grouped_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    """Each key head as often as queries share it, one beside the other."""
    group = n_heads // n_kv_heads
    return attend(q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1), None)


class MyAttention(nn.Module):
    """The five stages, with the functions above."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Attend from x to context, or to x itself."""
        context = x if context is None else context
        rows = self.W_Q(x), self.W_K(context), self.W_V(context)
        q, k, v = (split_heads(each, self.n_heads) for each in rows)
        return self.W_O(concat_heads(attend(q, k, v, mask)))


def all_heads_at_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Heads are an axis in front, and every step repeats itself over it."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


def sees_the_future(attention: Callable[[Tensor], Tensor]) -> bool:
    """Change the last of six tokens: with a right mask no other row moves."""
    before = torch.randn(1, 6, 24)
    after = before.clone()
    after[:, -1] = torch.randn(24)
    moved = (attention(after) - attention(before)).abs()
    return bool(moved[:, :-1].max() > 1e-5)


ALL = (
    split_heads,
    concat_heads,
    score,
    softmax,
    causal_mask,
    padding_mask,
    attend,
    multi_head_attention,
    kv_cache_step,
    grouped_attend,
    MyAttention,
    all_heads_at_once,
    sees_the_future,
)
