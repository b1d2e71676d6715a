"""Right answers to the functions of one attention, made of the library's own functions."""

import torch
from torch import Tensor

from mhsa_lib import functional, masks


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut every row of x into equal pieces, (batch, n_heads, seq, d_head)."""
    return functional.split_heads(x, n_heads)


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Shares that sum to 1 over the keys a query may look at; zeros where there are none."""
    return functional.softmax(scores, masks.resolve(mask, scores.shape, scores.device))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Scores, softmax and mix, with the scale 1/√d_head."""
    return functional.mix(softmax(functional.score(q, k, q.shape[-1] ** -0.5), mask), v)


def multi_head_attention(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
    mask: Tensor | None,
) -> Tensor:
    """All five stages, with matrices as formulas have them: x @ W."""
    return cross_attention(x, x, W_Q, W_K, W_V, W_O, n_heads, mask)


def cross_attention(
    x: Tensor,
    context: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    """Queries from x, keys and values from context."""
    q = functional.split_heads(x @ W_Q, n_heads)
    k, v = (functional.split_heads(context @ W, n_heads) for W in (W_K, W_V))
    return functional.concat_heads(attend(q, k, v, mask)) @ W_O


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
    """One more token (batch, 1, d_model): its row, and the keys and values with its own."""
    q, new_k, new_v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    k, v = torch.cat([k, new_k], dim=-2), torch.cat([v, new_v], dim=-2)
    return functional.concat_heads(attend(q, k, v, None)) @ W_O, k, v


def grouped_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    """z of n_heads queries that share n_kv_heads keys and values, neighbours together."""
    return attend(
        q, functional.share_heads(k, n_heads), functional.share_heads(v, n_heads), None
    )


def causal_mask(n_query: int, n_key: int) -> Tensor:
    """Who may look at whom without seeing the future, (query, key)."""
    return masks.causal.dense(n_query, n_key)


def padding_mask(lengths: list[int], n_key: int) -> Tensor:
    """Which keys are words and which are padding, (batch, 1, 1, key)."""
    return masks.key_padding(lengths).dense(1, n_key)
