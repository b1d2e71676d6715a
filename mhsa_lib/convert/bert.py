"""BERT's attention in our five stages, and that of its relatives which compute the same.

Many models of the transformers library carry a copy of BERT's attention under a name of their
own. Others have the same parts and another function: positions in the scores (RoFormer,
LayoutLMv3), an approximation (Nyströmformer), other inputs (MobileBERT). So those that were
compared are named here, one by one.

Source: Devlin et al., "BERT", arXiv 1810.04805.
"""

from typing import Any

from torch import nn

from mhsa_lib.accept import kinds, known, parameters
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.source import MODELS, stock

RELATIVES = {
    "bert.modeling_bert": "Bert",
    "roberta.modeling_roberta": "Roberta",
    "electra.modeling_electra": "Electra",
    "align.modeling_align": "AlignText",
    "altclip.modeling_altclip": "AltRoberta",
    "bert_generation.modeling_bert_generation": "BertGeneration",
    "blip.modeling_blip_text": "BlipText",
    "bridgetower.modeling_bridgetower": "BridgeTower",
    "camembert.modeling_camembert": "Camembert",
    "canine.modeling_canine": "Canine",
    "chinese_clip.modeling_chinese_clip": "ChineseCLIPText",
    "clap.modeling_clap": "ClapText",
    "data2vec.modeling_data2vec_text": "Data2VecText",
    "ernie.modeling_ernie": "Ernie",
    "git.modeling_git": "Git",
    "layoutlm.modeling_layoutlm": "LayoutLM",
    "markuplm.modeling_markuplm": "MarkupLM",
    "megatron_bert.modeling_megatron_bert": "MegatronBert",
    "rembert.modeling_rembert": "RemBert",
    "roberta_prelayernorm.modeling_roberta_prelayernorm": "RobertaPreLayerNorm",
    "roc_bert.modeling_roc_bert": "RoCBert",
    "splinter.modeling_splinter": "Splinter",
    "superglue.modeling_superglue": "SuperGlue",
    "tapas.modeling_tapas": "Tapas",
    "visual_bert.modeling_visual_bert": "VisualBert",
    "xlm_roberta.modeling_xlm_roberta": "XLMRoberta",
    "xlm_roberta_xl.modeling_xlm_roberta_xl": "XLMRobertaXL",
    "xmod.modeling_xmod": "Xmod",
}
"""Where the classes are, and how their names begin. LXMERT's, named otherwise, is one more."""


def _classes(*ends: str, lxmert: str) -> tuple[str, ...]:
    """Full names of the classes of all relatives with these ends."""
    named = [
        f"{MODELS}{module}.{name}{end}" for module, name in RELATIVES.items() for end in ends
    ]
    return (*named, f"{MODELS}lxmert.modeling_lxmert.{lxmert}")


KNOWN: kinds.Kinds = {
    "": _classes("Attention", lxmert="LxmertSelfAttentionLayer"),
    "self": _classes(
        "SelfAttention", "CrossAttention", "SdpaSelfAttention", lxmert="LxmertAttention"
    ),
    "self.query": (nn.Linear,),
    "self.key": (nn.Linear,),
    "self.value": (nn.Linear,),
    "self.dropout": (nn.Dropout,),
    "self.distance_embedding": (nn.Embedding,),
    "output": _classes("SelfOutput", lxmert="LxmertAttentionOutput"),
    "output.dense": (nn.Linear,),
    "output.dropout": (),
    "output.LayerNorm": (),
    "LayerNorm": (),
    "ln": (),
    "self_attn_layer_norm": (),
}


def from_bert(source: Any) -> MultiHeadAttention:
    """From a Hugging Face ``BertAttention``: query, key, value and the output's dense map.

    ``convert.from_bert(m)(x)`` equals ``m.output.dense(m.self(x)[0])``, and
    ``convert.from_bert(m)(x, context)`` the same of ``m.self(x, context)`` where that is a
    cross-attention. Masks are not part of the weights: give ours the one that the model makes.
    Not converted: the dropout, residual and LayerNorm of ``m.output``. What is frozen stays
    frozen.

    The classes of ``RELATIVES`` compute the same; others are refused, with ``TypeError``.
    ``ValueError`` for one with a part that is not its own, with something added to it, with
    relative positions, or with the chunks of CANINE's local attention.
    """
    why = "is not converted by convert.from_bert"
    known.only(source, KNOWN, why, known.ITSELF)
    inner, dense = source.self, source.output.dense
    positions = getattr(inner, "position_embedding_type", "absolute")
    if positions != "absolute":
        raise ValueError(
            f"position_embedding_type={positions!r} adds positions to the scores, which our "
            f"attention does not; only 'absolute' is converted."
        )
    if getattr(source, "local", False):
        raise ValueError(
            "local=True lets a token look at its chunk only; only CANINE's global layers are "
            "converted."
        )
    stock(getattr(inner, "config", None))
    d_head = inner.attention_head_size
    attention = MultiHeadAttention(
        dense.out_features,
        inner.num_attention_heads,
        d_head=d_head,
        d_context=inner.key.in_features,
        dropout=getattr(inner, "attention_dropout", inner.dropout.p),
    ).to(dense.weight)
    attention.attend.scale = getattr(inner, "scaling", d_head**-0.5)
    maps = inner.query, inner.key, inner.value, dense
    parameters.fill(attention, [W.weight for W in maps], [W.bias for W in maps])
    return attention.train(source.training)
