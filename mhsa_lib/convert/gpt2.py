"""GPT-2's attention in our five stages, and that of two models which copied it.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
"""

from typing import Any

from mhsa_lib.accept import kinds, known, parameters
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import MODELS, stock

KNOWN: kinds.Kinds = {
    "": (
        MODELS + "gpt2.modeling_gpt2.GPT2Attention",
        MODELS + "decision_transformer.modeling_decision_transformer."
        "DecisionTransformerGPT2Attention",
        MODELS + "imagegpt.modeling_imagegpt.ImageGPTAttention",
        MODELS + "gpt2.modeling_gpt2.GPT2SdpaAttention",
    ),
    "c_attn": ("transformers.pytorch_utils.Conv1D",),
    "c_proj": ("transformers.pytorch_utils.Conv1D",),
    "q_attn": ("transformers.pytorch_utils.Conv1D",),
    "attn_dropout": ("torch.nn.modules.dropout.Dropout",),
    "resid_dropout": (),
}


def from_gpt2(source: Any) -> MultiHeadAttention:
    """From a Hugging Face ``GPT2Attention``: ``c_attn``, ``c_proj``, and its scale.

    ``convert.from_gpt2(m)(x, mask=masks.causal)`` equals ``m(x)[0]`` as the model calls it,
    with its causal mask: the mask is not part of the weights, give it to ours. So do the copies
    in ImageGPT and the Decision Transformer. ``c_attn`` stores the transpose of ``nn.Linear``'s
    layout. What is frozen stays frozen. Not converted: dropout after ``c_proj``,
    cross-attention, and what is not bare (``ValueError``); another class (``TypeError``).
    """
    known.only(source, KNOWN, "is not converted by convert.from_gpt2", known.ITSELF)
    if source.is_cross_attention:
        raise ValueError(
            f"this {type(source).__name__} is a cross-attention; only self-attention is "
            f"converted."
        )
    stock(getattr(source, "config", None))  # ImageGPT of transformers 4 has none
    packed, output, d_head = source.c_attn, source.c_proj, source.head_dim
    attention = MultiHeadAttention(
        output.weight.shape[1], source.num_heads, d_head=d_head, dropout=source.attn_dropout.p
    ).to(output.weight)
    attention.attend.scale = getattr(source, "scaling", _scaling(source))
    widths = [source.num_heads * d_head] * 3
    weights = [
        parameters.like(packed.weight, part.T) for part in packed.weight.split(widths, dim=1)
    ]
    biases = parameters.cut(packed.bias, widths)
    parameters.fill(
        attention,
        [*weights, parameters.like(output.weight, output.weight.T)],
        [*biases, output.bias],
    )
    return attention.train(source.training)


def _scaling(source: Any) -> float:
    """The factor on the scores, where the class computes it as it goes."""
    scale = source.head_dim**-0.5 if source.scale_attn_weights else 1.0
    by_layer = source.scale_attn_by_inverse_layer_idx
    return scale / (source.layer_idx + 1) if by_layer else scale
