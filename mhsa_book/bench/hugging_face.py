"""Who takes part, from Hugging Face: BERT's, Llama's and GPT-2's attention.

Each runs as its authors wrote it, with our weights and with biases; dropout is 0, and Llama's
rotary positions turn by an angle of zero.
"""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.bench.problem import Loaded, Problem, Rows, load
from mhsa_book.bench.rivals import four, may_look, needs_a_mask, packed
from mhsa_book.results.cells import Cell


def bert_eager(problem: Problem) -> Loaded:
    """Hugging Face's BERT attention with explicit weights."""
    return _bert(problem, "eager")


def bert_sdpa(problem: Problem) -> Loaded:
    """Hugging Face's BERT attention on SDPA."""
    return _bert(problem, "sdpa")


def llama_eager(problem: Problem) -> Loaded:
    """Hugging Face's Llama attention with explicit weights."""
    return _llama(problem, "eager")


def llama_sdpa(problem: Problem) -> Loaded:
    """Hugging Face's Llama attention on SDPA."""
    return _llama(problem, "sdpa")


def gpt2_sdpa(problem: Problem) -> Loaded:
    """Hugging Face's GPT-2 attention on SDPA; its matrices are stored transposed."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    cell = problem.cell
    needs_a_mask(cell)
    config = GPT2Config(
        n_embd=cell.d_model, n_head=cell.n_heads, attn_pdrop=0.0, resid_pdrop=0.0,
        attn_implementation="sdpa",
    )  # fmt: skip
    module, mask = GPT2Attention(config, layer_idx=0), _for_hugging_face(cell, "sdpa")
    maps = packed(module.c_attn, [cell.d_model] * 3, transposed=True)
    maps["W_O"] = [Rows(module.c_proj.weight, module.c_proj.bias, transposed=True)]
    return Loaded(
        lambda x: module(x, attention_mask=mask)[0], module, load(problem.attention, maps)
    )


def llama_module(cell: Cell, kind: str) -> Any:
    """Hugging Face's Llama module for a cell, not loaded yet."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaAttention

    config = LlamaConfig(
        hidden_size=cell.d_model, num_attention_heads=cell.n_heads,
        num_key_value_heads=cell.kv_heads, attention_bias=True, attn_implementation=kind,
    )  # fmt: skip
    module = LlamaAttention(config, layer_idx=0)
    module.is_causal = cell.mask == "causal"
    return module


def no_turn(n_tokens: int, d_head: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of rotary positions that change nothing."""
    return torch.ones(1, n_tokens, d_head), torch.zeros(1, n_tokens, d_head)


def _bert(problem: Problem, kind: str) -> Loaded:
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertSelfAttention

    cell = problem.cell
    config = BertConfig(
        hidden_size=cell.d_model, num_attention_heads=cell.n_heads,
        attention_probs_dropout_prob=0.0, attn_implementation=kind,
    )  # fmt: skip
    inner = BertSelfAttention(config, is_causal=cell.mask == "causal", layer_idx=0)
    module = nn.ModuleList([inner, nn.Linear(cell.d_model, cell.d_model)])
    maps = four(inner.query, inner.key, inner.value, module[1])
    mask = _for_hugging_face(cell, kind)
    call = lambda x: module[1](inner(x, attention_mask=mask)[0])  # noqa: E731
    return Loaded(call, module, load(problem.attention, maps))


def _llama(problem: Problem, kind: str) -> Loaded:
    cell = problem.cell
    module, mask = llama_module(cell, kind), _for_hugging_face(cell, kind)
    turn = no_turn(cell.n_tokens, cell.d_model // cell.n_heads)
    maps = four(module.q_proj, module.k_proj, module.v_proj, module.o_proj)
    call = lambda x: module(x, position_embeddings=turn, attention_mask=mask)[0]  # noqa: E731
    return Loaded(call, module, load(problem.attention, maps))


def _for_hugging_face(cell: Cell, kind: str) -> Tensor | None:
    """Nothing, a boolean mask for SDPA, or numbers to add for explicit weights."""
    if cell.mask == "full" or (cell.mask == "causal" and kind == "sdpa"):
        return None
    allowed = may_look(cell)
    allowed = allowed[(None,) * (4 - allowed.ndim)]
    if kind == "sdpa":
        return allowed
    least = torch.finfo(torch.float32).min
    return torch.zeros(allowed.shape).masked_fill(~allowed, least)
