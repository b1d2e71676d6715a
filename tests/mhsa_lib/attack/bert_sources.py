"""BERT and its relatives at random sizes, and what each answers by itself."""

from typing import Any

from torch import Tensor

from mhsa_lib import convert
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped
from tests.mhsa_lib.attack.problem import fill
from tests.mhsa_lib.attack.sources import Source
from tests.mhsa_lib.attack.transformers_classes import built, classes, drawn_config

BERTS = (
    *("bert:Bert", "roberta:Roberta", "electra:Electra", "camembert:Camembert"),
    *("xlm_roberta:XLMRoberta", "ernie:Ernie", "layoutlm:LayoutLM"),
    *("splinter:Splinter", "megatron_bert:MegatronBert", "rembert:RemBert", "esm:Esm"),
    *("roformer:RoFormer", "nystromformer:Nystromformer", "mobilebert:MobileBert"),
    *("convbert:ConvBert", "yoso:Yoso", "mra:Mra", "big_bird:BigBird", "canine:Canine"),
    *("deberta:Deberta", "deberta_v2:DebertaV2", "markuplm:MarkupLM", "visual_bert:VisualBert"),
    *("tapas:Tapas", "bert_generation:BertGeneration", "lilt:Lilt", "roc_bert:RoCBert"),
    *("ibert:IBert", "luke:Luke", "longformer:Longformer", "layoutlmv2:LayoutLMv2"),
    *("layoutlmv3:LayoutLMv3", "xlm_roberta_xl:XLMRobertaXL", "xmod:Xmod", "bros:Bros"),
    *("roberta_prelayernorm:RobertaPreLayerNorm", "altclip:AltRoberta", "clap:ClapText"),
    *("chinese_clip:ChineseCLIPText", "bridgetower:BridgeTower", "git:Git"),
)


def of_bert(draw: Draw) -> Source:
    name = draw.one(BERTS)
    attention, kind, _ = classes(name)
    extra: dict[str, Any] = {"attention_probs_dropout_prob": draw.one((0.0, 0.1))}
    try:
        config = drawn_config(draw, kind, **extra)
        m = built(name, attention, (config,), (config, 0), (config, None, 0))
    except Exception as error:
        raise Skipped(f"{name} is configured differently") from error
    fill(m)
    m = m.double().eval()

    def truth(x: Tensor) -> Tensor:
        try:
            # without a mask some relatives are causal under SDPA: see is_causal in transformers
            out = m.self(x, attention_mask=x.new_zeros(1, 1, x.shape[1], x.shape[1]))
            return m.output.dense(out[0] if isinstance(out, tuple) else out)
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(name, m, config.hidden_size, truth, lambda: convert.from_bert(m), None, 1e-5)
