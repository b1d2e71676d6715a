"""BERT's attention in our five stages, and that of its relatives which compute the same.

Source: Devlin et al., "BERT", arXiv 1810.04805.
"""

from inspect import signature
from typing import Any

from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import Source, fill, full_names
from mhsa_lib.convert.verification import additive, converted

# Models with the same parts may have further inputs, which a comparison that does not pass
# them would not see (RoFormer's positions, LayoutLMv3's boxes). So these are named.
CLASSES = (
    *full_names(
        "bert:Bert roberta:Roberta electra:Electra align:AlignText altclip:AltRoberta "
        "bert_generation:BertGeneration blip_text:BlipText bridgetower:BridgeTower "
        "camembert:Camembert canine:Canine chinese_clip:ChineseCLIPText clap:ClapText "
        "data2vec_text:Data2VecText ernie:Ernie git:Git layoutlm:LayoutLM markuplm:MarkupLM "
        "megatron_bert:MegatronBert rembert:RemBert roberta_prelayernorm:RobertaPreLayerNorm "
        "roc_bert:RoCBert splinter:Splinter superglue:SuperGlue tapas:Tapas "
        "visual_bert:VisualBert xlm_roberta:XLMRoberta xlm_roberta_xl:XLMRobertaXL xmod:Xmod"
    ),
    "transformers.models.lxmert.modeling_lxmert.LxmertSelfAttentionLayer",
)


def from_bert(source: Any, *, verify: bool = True) -> MultiHeadAttention:
    """Convert a Hugging Face ``BertAttention``, or that of one of its relatives (``CLASSES``).

    ``convert.from_bert(m)(x)`` equals ``m.output.dense(m.self(x)[0])``, and
    ``convert.from_bert(m)(x, context)`` the same of ``m.self(x, context)`` where that is a
    cross-attention. Masks are not part of the weights: give ours the one that the model makes.

    Raises as ``mhsa_lib.convert`` says, and ``ValueError`` for relative positions and for the
    chunks of CANINE's local attention.
    """
    outside = ("output.LayerNorm.", "LayerNorm.", "ln.", "self_attn_layer_norm.")
    read = Source(source, CLASSES, "from_bert", (*outside, "output.dropout."))
    if getattr(source, "local", False):
        raise ValueError(
            "local=True lets a token attend to its chunk only; only CANINE's global layers are "
            "converted."
        )
    inputs = "context" if getattr(source, "is_cross_attention", False) else "x"
    return converted(read, _build, _run, inputs=(inputs,), verify=verify)


def _build(source: Source) -> MultiHeadAttention:
    inner, dense = source.module.self, source.module.output.dense
    d_head = inner.attention_head_size
    attention = MultiHeadAttention(
        dense.out_features,
        inner.num_attention_heads,
        d_head=d_head,
        d_context=inner.key.in_features,
        dropout=getattr(inner, "attention_dropout", inner.dropout.p),
    )
    attention.attend.scale = getattr(inner, "scaling", d_head**-0.5)
    paths = "self.query", "self.key", "self.value", "output.dense"
    weights, biases = zip(*map(source.linear, paths), strict=True)
    fill(attention, weights, biases)
    return attention


def _run(source: Any, x: Tensor, context: Tensor, allowed: Tensor | None) -> Tensor:
    names = signature(type(source.self).forward).parameters
    given: dict[str, Any] = {"attention_mask": additive(allowed, x.dtype)}
    if context is not x and "encoder_attention_mask" in names:
        given = {"encoder_attention_mask": given["attention_mask"]}
    for name in ("to_tensor", "context", "encoder_hidden_states"):
        # CANINE and LXMERT take keys apart from queries in self-attention too.
        if name in names and (context is not x or name != "encoder_hidden_states"):
            given[name] = context
    return source.output.dense(source.self(x, **given)[0])
