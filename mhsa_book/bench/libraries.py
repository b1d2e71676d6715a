"""Who takes part, from other libraries: torchtune, x-transformers, litgpt.

Each runs as its authors wrote it, with our weights and with biases.
"""

from typing import Any

import torch
from torch import nn

from mhsa_book.bench.problem import Loaded, Problem, Rows, load
from mhsa_book.bench.rivals import four, may_look, needs_a_mask, packed
from mhsa_book.results.cells import Cell


def torchtune(problem: Problem) -> Loaded:
    """torchtune's ``MultiHeadAttention``."""
    cell = problem.cell
    module = torchtune_module(cell)
    mask = None if cell.mask == "causal" else may_look(cell)
    if mask is not None:
        n = cell.n_tokens
        mask = mask.reshape(-1, *mask.shape[-2:]).expand(cell.batch, n, n)
    maps = four(module.q_proj, module.k_proj, module.v_proj, module.output_proj)
    call = lambda x: module(x, x, mask=mask)  # noqa: E731  a name for the line below
    return Loaded(call, module, load(problem.attention, maps))


def torchtune_module(cell: Cell) -> Any:
    """torchtune's module for a cell, not loaded yet."""
    from torchtune.modules import MultiHeadAttention

    d_model, d_head = cell.d_model, cell.d_model // cell.n_heads
    d_kv = cell.kv_heads * d_head
    return MultiHeadAttention(
        embed_dim=d_model,
        num_heads=cell.n_heads,
        num_kv_heads=cell.kv_heads,
        head_dim=d_head,
        q_proj=nn.Linear(d_model, d_model),
        k_proj=nn.Linear(d_model, d_kv),
        v_proj=nn.Linear(d_model, d_kv),
        output_proj=nn.Linear(d_model, d_model),
        max_seq_len=8192,
        is_causal=cell.mask == "causal",
    )


def x_transformers(problem: Problem) -> Loaded:
    """x-transformers' ``Attention`` with explicit weights."""
    return _x_transformers(problem, flash=False)


def x_transformers_flash(problem: Problem) -> Loaded:
    """x-transformers' ``Attention`` on SDPA."""
    return _x_transformers(problem, flash=True)


def x_transformers_module(cell: Cell, flash: bool) -> Any:
    """x-transformers' module for a cell with biased maps, not loaded yet."""
    from x_transformers.x_transformers import Attention

    d_head = cell.d_model // cell.n_heads
    module = Attention(
        cell.d_model,
        dim_head=d_head,
        heads=cell.n_heads,
        kv_heads=cell.kv_heads,
        causal=cell.mask == "causal",
        flash=flash,
    )
    module.to_q = nn.Linear(cell.d_model, cell.d_model)
    module.to_k = nn.Linear(cell.d_model, cell.kv_heads * d_head)
    module.to_v = nn.Linear(cell.d_model, cell.kv_heads * d_head)
    module.to_out = nn.Linear(cell.d_model, cell.d_model)
    return module


def litgpt(problem: Problem) -> Loaded:
    """litgpt's ``CausalSelfAttention``."""
    cell = problem.cell
    needs_a_mask(cell)
    module, mask = litgpt_module(cell), None if cell.mask == "causal" else may_look(cell)
    nothing = torch.ones(1, cell.n_tokens, 0)
    call = lambda x: module(x, nothing, nothing, mask=mask)  # noqa: E731
    return Loaded(call, module, load(problem.attention, litgpt_maps(module, cell)))


def litgpt_module(cell: Cell) -> Any:
    """litgpt's module for a cell, not loaded yet."""
    from litgpt import Config
    from litgpt.model import CausalSelfAttention

    config = Config(
        n_embd=cell.d_model, n_head=cell.n_heads, n_query_groups=cell.kv_heads,
        head_size=cell.d_model // cell.n_heads, bias=True, rotary_percentage=0.0,
    )  # fmt: skip
    return CausalSelfAttention(config, block_idx=0)


def litgpt_maps(module: Any, cell: Cell) -> dict[str, list[Rows]]:
    """Where litgpt keeps the four maps."""
    d_kv = cell.kv_heads * cell.d_model // cell.n_heads
    maps = packed(module.qkv, [cell.d_model, d_kv, d_kv])
    return maps | {"W_O": [Rows(module.proj.weight, module.proj.bias)]}


def _x_transformers(problem: Problem, flash: bool) -> Loaded:
    cell = problem.cell
    module, options = x_transformers_module(cell, flash), {}
    if cell.mask == "ragged":
        options["mask"] = problem.real
    elif cell.mask == "window":
        options["attn_mask"] = may_look(cell)
    maps = four(module.to_q, module.to_k, module.to_v, module.to_out)
    return Loaded(lambda x: module(x, **options), module, load(problem.attention, maps))
