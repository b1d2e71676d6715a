"""Who takes part in decoding, from other libraries, each with its own cache."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book.bench.decoding import ROOM, STEPS, Decoder, Past
from mhsa_book.bench.hugging_face import llama_module, no_turn
from mhsa_book.bench.libraries import (
    litgpt_maps,
    litgpt_module,
    torchtune_module,
    x_transformers_module,
)
from mhsa_book.bench.problem import load
from mhsa_book.bench.rivals import four


def litgpt(past: Past) -> Decoder:
    """litgpt with its cache, cut to the tokens so far as its ``generate`` does."""
    cell = past.cell
    module, n = litgpt_module(cell).eval(), cell.n_tokens
    load(past.problem.attention, litgpt_maps(module, cell))
    module.kv_cache = module.build_kv_cache(cell.batch, ROOM, rope_cache_length=0)
    module.kv_cache.k[:, :, :n], module.kv_cache.v[:, :, :n] = past.k, past.v
    nothing = torch.ones(1, 1, 0)
    allowed = [torch.ones(1, 1, 1, n + 1 + i, dtype=torch.bool) for i in range(STEPS)]
    places, now = torch.arange(ROOM), [0]

    def step(x: Tensor) -> Tensor:
        i, now[0] = now[0], now[0] + 1
        at = places[n + i : n + i + 1]
        return module(x, nothing, nothing, allowed[i], at, input_pos_maxp1=n + i + 1)

    return Decoder(step, lambda: now.__setitem__(0, 0))


def llama_dynamic(past: Past) -> Decoder:
    """Hugging Face's Llama with its ``DynamicCache``, which concatenates."""
    from transformers import DynamicCache

    cell = past.cell
    module = llama_module(cell, "sdpa").eval()
    load(
        past.problem.attention, four(module.q_proj, module.k_proj, module.v_proj, module.o_proj)
    )
    turn, caches = no_turn(1, cell.d_model // cell.n_heads), [DynamicCache()]

    def reset() -> None:
        caches[0] = DynamicCache()
        caches[0].update(past.k, past.v, 0)

    def step(x: Tensor) -> Tensor:
        more = {"attention_mask": None, "past_key_values": caches[0]}
        return module(x, position_embeddings=turn, **more)[0]

    return Decoder(step, reset)


def torchtune(past: Past) -> Decoder:
    """torchtune with its cache: it attends to all room there is, under a mask."""
    cell = past.cell
    module, n = torchtune_module(cell).eval(), cell.n_tokens
    load(
        past.problem.attention,
        four(module.q_proj, module.k_proj, module.v_proj, module.output_proj),
    )
    module.setup_cache(cell.batch, torch.float32, ROOM)
    module.kv_cache.update(past.k, past.v)
    allowed = torch.arange(ROOM) <= torch.arange(ROOM)[:, None]
    now = [n]

    def reset() -> None:
        module.kv_cache.cache_pos.sub_(module.kv_cache.size - n)
        now[0] = n

    def step(x: Tensor) -> Tensor:
        mask = allowed[None, now[0] : now[0] + 1].expand(cell.batch, 1, ROOM)
        now[0] += 1
        return module(x, x, mask=mask)

    return Decoder(step, reset)


def x_transformers(past: Past) -> Decoder:
    """x-transformers on SDPA with its cache, which concatenates.

    Of h query heads on g key heads, its query head i reads key head i mod g; ours reads
    i // (h / g). So the query heads are put into its order.
    """
    from x_transformers.attend import Intermediates

    module = x_transformers_module(past.cell, flash=True).eval()
    load(past.problem.attention, four(module.to_q, module.to_k, module.to_v, module.to_out))
    groups = past.cell.kv_heads, past.cell.n_heads // past.cell.kv_heads, -1
    with torch.no_grad():
        for rows in (module.to_q.weight, module.to_q.bias, module.to_out.weight.T):
            rows.copy_(rows.unflatten(0, groups).transpose(0, 1).flatten(0, 2))
    kept: list[Any] = [None]

    def step(x: Tensor) -> Tensor:
        y, kept[0] = module(x, cache=kept[0], return_intermediates=True)
        return y

    def reset() -> None:
        kept[0] = Intermediates(cached_kv=(past.k, past.v))

    return Decoder(step, reset)
