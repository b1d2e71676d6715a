"""Other people's attention modules, loaded with our weights: the other side of ``convert``.

Each function builds the module in evaluation mode, with the dtype of our weights. A module that
cannot hold them raises ``NotApplicableError`` and says why.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from mhsa_book import naive
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import maps_of


class NotApplicableError(Exception):
    """An implementation has no way to express this case; the message says why."""


def torch_module(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """``nn.MultiheadAttention``, batch first, with the weights of ``attention``.

    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> torch.allclose(torch_module(mha)(x, x, x)[0], mha(x), atol=1e-6)
    True
    """
    _square(attention)
    *qkv, out = _parts(attention)
    module = nn.MultiheadAttention(
        attention.d_model,
        attention.n_heads,
        bias=out.bias is not None,
        batch_first=True,
        dtype=out.weight.dtype,
    )
    state = {
        "in_proj_weight": torch.cat([W.weight for W in qkv]),
        "out_proj.weight": out.weight,
    }
    if out.bias is not None:
        state |= {"in_proj_bias": torch.cat([W.bias for W in qkv]), "out_proj.bias": out.bias}
    module.load_state_dict(state)
    return module.eval()


def bert_module(attention: MultiHeadAttention) -> Any:
    """A Hugging Face ``BertAttention`` with our weights; missing biases are 0."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertAttention

    _square(attention)
    config = BertConfig(
        hidden_size=attention.d_model,
        num_attention_heads=attention.n_heads,
        attn_implementation="eager",
    )
    module = BertAttention(config, layer_idx=0).to(attention.W_O.weight.dtype).eval()
    inner = module.self
    _copy(_parts(attention), (inner.query, inner.key, inner.value, module.output.dense))
    return module


def gpt2_module(attention: MultiHeadAttention) -> Any:
    """A Hugging Face ``GPT2Attention`` with our weights; missing biases are 0."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    _square(attention)
    config = GPT2Config(
        n_embd=attention.d_model, n_head=attention.n_heads, attn_implementation="eager"
    )
    module = GPT2Attention(config, layer_idx=0).to(attention.W_O.weight.dtype).eval()
    *qkv, out = _parts(attention)
    with torch.no_grad():
        module.c_attn.weight.copy_(torch.cat([W.weight for W in qkv]).T)
        module.c_proj.weight.copy_(out.weight.T)
        if out.bias is not None:
            module.c_attn.bias.copy_(torch.cat([W.bias for W in qkv]))
            module.c_proj.bias.copy_(out.bias)
    return module


def _square(attention: MultiHeadAttention) -> None:
    """Ours is the definition, and of sizes that the others have; ``ValueError`` otherwise."""
    naive.is_the_definition(attention)
    biased = {W.bias is not None for W in _parts(attention)}
    if attention.d_context != attention.d_model:
        raise NotApplicableError("a context is as wide as x")
    if len(biased) > 1:
        raise NotApplicableError("all maps have a bias, or none")
    if attention.n_heads * attention.d_head != attention.d_model:
        raise NotApplicableError("d_head is fixed")


def _parts(attention: MultiHeadAttention) -> tuple[nn.Linear, ...]:
    return tuple(maps_of(attention).values())


def _copy(sources: Iterable[nn.Linear], targets: Iterable[nn.Linear]) -> None:
    with torch.no_grad():
        for source, target in zip(sources, targets, strict=True):
            target.weight.copy_(source.weight)
            nn.init.zeros_(target.bias)
            if source.bias is not None:
                target.bias.copy_(source.bias)
