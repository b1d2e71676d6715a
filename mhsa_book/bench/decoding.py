"""Who takes part in decoding: one token behind a cache, projections and writing included.

A block of steps grows the cache from ``n_tokens`` on; before the next block it is cut back.
Everybody has room for 4160 tokens, and keys and values of the context are computed once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.bench.clock import Entrant
from mhsa_book.bench.problem import Problem, load
from mhsa_book.bench.rivals import Packed
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_lib import masks
from mhsa_lib.cache.memory import KVCache
from mhsa_lib.functional import split_heads
from mhsa_lib.fused.attention import FusedMultiHeadAttention

STEPS = 64
ROOM = 4096 + STEPS


@dataclass(frozen=True)
class Decoder:
    """``step`` makes the next token's y from x (batch, 1, d_model); ``reset`` cuts back."""

    step: Callable[[Tensor], Tensor]
    reset: Callable[[], Any]


def entrant(layers: list[Decoder], x: Tensor) -> Entrant:
    """One step of every layer, as one call; the same token goes into each."""

    @torch.inference_mode()
    def step() -> None:
        for layer in layers:
            layer.step(x)

    def reset() -> None:
        for layer in layers:
            layer.reset()

    return Entrant(step, reset, STEPS)


class Past:
    """The context of a decode cell: its keys and values, (batch, kv_head, token, d_head)."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cell = problem, problem.cell
        project, n = problem.attention.project, problem.cell.kv_heads
        with torch.inference_mode():
            self.k = split_heads(project.W_K(problem.x), n).contiguous()
            self.v = split_heads(project.W_V(problem.x), n).contiguous()

    def buffer(self, past: Tensor) -> Tensor:
        """Room for the context and all that may follow, the context written into it."""
        batch, heads, n, d_head = past.shape
        room = torch.zeros(batch, heads, max(ROOM, n + STEPS), d_head)
        room[:, :, :n] = past
        return room


class RawCache(Packed):
    """``Packed`` with a cache that is allocated once; keys are sliced, never copied."""

    def __init__(self, past: Past) -> None:
        super().__init__(past.cell)
        load(past.problem.attention, self.maps)
        self.k, self.v, self.n = past.buffer(past.k), past.buffer(past.v), 0
        self.start = past.cell.n_tokens

    def reset(self) -> None:
        """Back to the context."""
        self.n = self.start

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(x)
        self.k[:, :, self.n : self.n + 1], self.v[:, :, self.n : self.n + 1] = k, v
        self.n += 1
        z = self.look(q, self.k[:, :, : self.n], self.v[:, :, : self.n])
        return self.out(z.transpose(1, 2).flatten(2))

    def look(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """One query against all keys so far."""
        grouped = self.heads != self.kv_heads
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=grouped)


class Repeated(RawCache):
    """The same, with keys and values repeated for every query head."""

    def look(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Copy, then attend."""
        n = self.heads // self.kv_heads
        k, v = k.repeat_interleave(n, dim=1), v.repeat_interleave(n, dim=1)
        return F.scaled_dot_product_attention(q, k, v)


class ExplicitCache(RawCache):
    """The same, with an explicit softmax and a group's queries as rows."""

    def look(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Products of matrices, a group's queries as rows."""
        rows = q.unflatten(1, (self.kv_heads, -1)).flatten(2, 3) * self.d_head**-0.5
        z = (rows @ k.mT).softmax(dim=-1) @ v
        return z.unflatten(2, (-1, 1)).flatten(1, 2)


def raw(past: Past) -> Decoder:
    """A preallocated cache and SDPA: the unit."""
    return _of(RawCache(past))


def repeated(past: Past) -> Decoder:
    """Raw with ``repeat_interleave``."""
    if past.cell.kv_heads == past.cell.n_heads:
        raise NotApplicableError("every head has keys of its own")
    return _of(Repeated(past))


def explicit(past: Past) -> Decoder:
    """Raw with an explicit softmax."""
    return _of(ExplicitCache(past))


def ours(past: Past) -> Decoder:
    """Our fused module with its own cache."""
    module = FusedMultiHeadAttention.from_attention(past.problem.attention).eval()
    cache = KVCache(past.cell.n_tokens + STEPS)
    with torch.inference_mode():
        module(past.problem.x, mask=masks.causal, cache=cache)
    return Decoder(lambda x: module(x, cache=cache), lambda: cache.crop(past.cell.n_tokens))


def no_cache(past: Past) -> Decoder:
    """Keys and values of the whole text made again; only the last query attends."""
    module, x = RawCache(past), past.problem.x
    tokens: list[Tensor] = []

    def step(new: Tensor) -> Tensor:
        tokens[:] = [torch.cat([*tokens, new], dim=1)]
        q, k, v = module.split(tokens[0])
        return module.out(module.look(q[:, :, -1:], k, v).transpose(1, 2).flatten(2))

    return Decoder(step, lambda: tokens.__setitem__(slice(None), [x]))


def _of(module: RawCache) -> Decoder:
    return Decoder(module.eval(), module.reset)
