"""GPT-2's attention in our five stages, and that of two models which copied it.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
"""

from typing import Any

from torch import Tensor

from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import Source, fill, full_names
from mhsa_lib.convert.verification import LENGTH, additive, converted

CLASSES = full_names("gpt2:GPT2 imagegpt:ImageGPT decision_transformer:DecisionTransformerGPT2")


def from_gpt2(source: Any, *, verify: bool = True) -> MultiHeadAttention:
    """Convert a Hugging Face ``GPT2Attention``: ``c_attn``, ``c_proj``, and its scale.

    ``convert.from_gpt2(m)(x, mask=masks.causal)`` equals ``m(x)[0]`` as the model calls it,
    with its causal mask: the mask is not part of the weights, give it to ours. So do the copies
    in ImageGPT and the Decision Transformer. Raises as ``mhsa_lib.convert`` says, and
    ``ValueError`` for cross-attention.
    """
    read = Source(source, CLASSES, "from_gpt2", ("resid_dropout.",))
    if source.is_cross_attention:
        raise ValueError(
            f"this {read.name} is a cross-attention; only self-attention is converted."
        )
    # ImageGPT holds a triangle of ones for its longest text, and takes no longer one.
    length = min([LENGTH, *(m.shape[-1] for n, m in source.named_buffers() if n == "bias")])
    return converted(read, _build, _run, inputs=("causal",), verify=verify, length=length)


def _build(source: Source) -> MultiHeadAttention:
    m = source.module
    (packed, biases), (output, bias) = source.linear("c_attn"), source.linear("c_proj")
    attention = MultiHeadAttention(
        output.shape[1], m.num_heads, d_head=m.head_dim, dropout=m.attn_dropout.p
    )
    attention.attend.scale = getattr(m, "scaling", _scaling(m))
    widths = [m.num_heads * m.head_dim] * 3
    # Conv1D stores (input, output), the transpose of nn.Linear's weight.
    weights = copying.split_rows(copying.like(packed, packed.T), widths)
    weights.append(copying.like(output, output.T))
    fill(attention, weights, [*copying.split_rows(biases, widths), bias])
    return attention


def _scaling(source: Any) -> float:
    """Return the factor on the scores, where the class computes it as it goes (ImageGPT)."""
    scale = source.head_dim**-0.5 if source.scale_attn_weights else 1.0
    by_layer = source.scale_attn_by_inverse_layer_idx
    return scale / (source.layer_idx + 1) if by_layer else scale


def _run(source: Any, x: Tensor, context: Tensor, allowed: Tensor | None) -> Tensor:
    return source(x, attention_mask=additive(allowed, x.dtype))[0]
