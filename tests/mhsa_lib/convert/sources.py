"""Small attention layers of other libraries, with random weights."""

import torch
from hypothesis import strategies as st
from torch import nn
from transformers import BertConfig, GPT2Config
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from tests.helpers.drawn import filled

SIZE = st.integers(1, 4)


def randomized(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """In evaluation mode, with biases that are not zero."""
    return filled(module, std=0.3).to(dtype).eval()


def bert(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64):
    config = BertConfig(
        hidden_size=n_heads * d_head, num_attention_heads=n_heads, attn_implementation="eager"
    )
    return randomized(BertAttention(config), dtype)


def gpt2(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64, **options):
    config = GPT2Config(
        n_embd=n_heads * d_head, n_head=n_heads, attn_implementation="eager", **options
    )
    return randomized(GPT2Attention(config, layer_idx=3), dtype)


def torchs(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64, **options):
    module = nn.MultiheadAttention(n_heads * d_head, n_heads, batch_first=True, **options)
    return randomized(module, dtype)


def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(batch, 1, query, key) of 0 and the lowest number, as Hugging Face's models make it."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)
