"""A plain attention in parts that can be exchanged: the right one for every exhibit.

Each part is one function with one or two lines, so that a mistake is a line beside it. Rows are
(batch, seq, columns), heads (batch, head, seq, d_head), matrices (out, in) as ``nn.Linear``
keeps them.

Source: Vaswani et al., "Attention Is All You Need", section 3.2, arXiv 1706.03762.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

BASE = 10_000.0
"""Of the rotary angles."""


class Matrices(NamedTuple):
    """The maps of one attention, (out, in), and their biases, (out,); that of O may be 0."""

    Q: Tensor
    K: Tensor
    V: Tensor
    O: Tensor
    bias_Q: Tensor  # noqa: N815
    bias_K: Tensor  # noqa: N815
    bias_V: Tensor  # noqa: N815
    bias_O: Tensor | float = 0.0  # noqa: N815


class Cache(NamedTuple):
    """Keys and values so far, (batch, head, seq, d_head)."""

    k: Tensor
    v: Tensor


def begin(width: int, n_heads: int, generator: torch.Generator) -> Tensor:
    """Random numbers for a map (width, width), other ones for every head."""
    return torch.randn(width, width, generator=generator) / math.sqrt(width)


def register(heads: Iterable[nn.Module]) -> Iterable[nn.Module]:
    """Keep the parts of a module where the module finds them."""
    return nn.ModuleList(heads)


def normalise(x: Tensor) -> Tensor:
    """Every row with mean 0, before the attention; the rows themselves stay for the sum."""
    return x - x.mean(dim=-1, keepdim=True)


def project(
    x: Tensor, memory: Tensor, W: Matrices, n_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries from x, keys and values from the memory, which is x in self-attention."""
    return x @ W.Q.mT + W.bias_Q, memory @ W.K.mT + W.bias_K, memory @ W.V.mT + W.bias_V


def split_heads(rows: Tensor, n_heads: int) -> Tensor:
    """Cut every row into pieces, then let the heads stand before the tokens."""
    batch, seq, _ = rows.shape
    return rows.reshape(batch, seq, n_heads, -1).transpose(1, 2)


def share_heads(kv: Tensor, n_heads: int) -> Tensor:
    """Every key head for its group of query heads: k1 k1 k2 k2."""
    return kv.repeat_interleave(n_heads // kv.shape[1], dim=1)


def normalise_heads(heads: Tensor) -> Tensor:
    """Queries or keys of length √d_head, every head by itself."""
    return heads / heads.pow(2).mean(dim=-1, keepdim=True).sqrt()


def places(n_before: int, n: int) -> Tensor:
    """Positions of n tokens, if so many came before them."""
    return torch.arange(n_before, n_before + n)


def counted(real: Tensor) -> Tensor:
    """Positions (batch, seq), counted from the first token that is no padding."""
    return (real.cumsum(dim=-1) - 1).clamp_min(0)


def sinusoids(position: Tensor, d_model: int) -> Tensor:
    """What is added to the rows where positions are absolute: (…, seq, d_model)."""
    angle = position[..., None] * BASE ** -(torch.arange(d_model // 2) * 2 / d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def angles(position: Tensor, d_head: int, n_heads: int) -> Tensor:
    """Angles (seq, d_head / 2) by which pairs of columns turn, the same in every head."""
    rates = BASE ** -(torch.arange(d_head // 2) * 2 / d_head)
    return position[:, None] * rates


def turn(heads: Tensor, angle: Tensor) -> Tensor:
    """Turn column i together with column i + d_head / 2, as Llama does."""
    one, two = heads.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([one * cos - two * sin, one * sin + two * cos], dim=-1)


def rotate(
    q: Tensor, k: Tensor, v: Tensor, turned: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys are turned by their positions, values are not."""
    return turned(q), turned(k), v


def offsets(n_query: int, n_key: int) -> Tensor:
    """How far back a key stands from a query, (query, key): below 0 for the future."""
    return torch.arange(n_key - n_query, n_key)[:, None] - torch.arange(n_key)


def slopes(n_heads: int) -> Tensor:
    """ALiBi's slopes, a number for each head: 2^(-8/n), 2^(-16/n), …"""
    return 2.0 ** -(8 * torch.arange(1, n_heads + 1) / n_heads)


def alibi(n_query: int, n_key: int, n_heads: int) -> Tensor:
    """ALiBi's bias (head, query, key): the farther back, the lower."""
    return -slopes(n_heads)[:, None, None] * offsets(n_query, n_key)


def remember(cache: Cache | None, k: Tensor, v: Tensor) -> Cache:
    """Put new keys and values behind those that are known."""
    if cache is None:
        return Cache(k, v)
    return Cache(torch.cat([cache.k, k], dim=2), torch.cat([cache.v, v], dim=2))


def recall(k: Tensor, turned: Callable[[Tensor], Tensor]) -> Tensor:
    """Keys from the cache, which were turned when they came in."""
    return k


def forget(cache: Cache | None) -> Cache | None:
    """What remains of a cache when another text begins."""
    return None


def reorder(cache: Cache, beams: Tensor) -> Cache:
    """Let row i go on from what row beams[i] has seen."""
    return Cache(cache.k[beams], cache.v[beams])


def crop(cache: Cache, n: int) -> Cache:
    """The first n tokens of a cache: what was guessed behind them has been rejected."""
    return Cache(cache.k[:, :, :n], cache.v[:, :, :n])


def causal_mask(n_query: int, n_key: int) -> Tensor:
    """True where a query may look; the last query sees all keys: (query, key)."""
    return torch.ones(n_query, n_key).tril(n_key - n_query).bool()


def padding_mask(real: Tensor) -> Tensor:
    """Which keys are tokens, for every query: (batch, 1, 1, key) of (batch, key)."""
    return real[:, None, None, :]


def memory_mask(real: Tensor) -> Tensor:
    """Which tokens of a memory are no padding: cross-attention needs a padding mask, too."""
    return real[:, None, None, :]


def documents_mask(documents: Tensor) -> Tensor:
    """True where query and key are of one text, of (batch, seq): (batch, 1, query, key)."""
    return documents[:, None, :, None] == documents[:, None, None, :]


def window_mask(n_query: int, n_key: int, window: int) -> Tensor:
    """True for the last ``window`` tokens, the own one among them: (query, key)."""
    return offsets(n_query, n_key) < window


def score(q: Tensor, k: Tensor, d_model: int) -> Tensor:
    """Dot products, divided by √d_head."""
    return (q @ k.mT) / math.sqrt(q.shape[-1])


def drop_scores(scores: Tensor, p: float, training: bool) -> Tensor:
    """Nothing is left out before the softmax."""
    return scores


def softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Shares of the keys that may be looked at; zeros where there are none."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def drop(weights: Tensor, p: float, training: bool) -> Tensor:
    """Leave out some weights while training, and enlarge the others."""
    return nn.functional.dropout(weights, p, training)


def mix(weights: Tensor, v: Tensor) -> Tensor:
    """Average the values."""
    return weights @ v


def concat_heads(z: Tensor) -> Tensor:
    """Lay the heads of every token side by side."""
    batch, n_heads, seq, d_head = z.shape
    return z.transpose(1, 2).reshape(batch, seq, n_heads * d_head)


def output(rows: Tensor, W: Matrices, n_heads: int) -> Tensor:
    """Mix what the heads found."""
    return rows @ W.O.mT + W.bias_O


def targets(ids: Tensor) -> tuple[Tensor, Tensor]:
    """What a language model reads, and what it shall say: the token after each."""
    return ids[:, :-1], ids[:, 1:]


def asked(wanted: Tensor, lengths: Tensor) -> Tensor:
    """Which targets (batch, seq) count: those of a text, with its end, and no padding."""
    return torch.arange(wanted.shape[1]) < lengths[:, None]
