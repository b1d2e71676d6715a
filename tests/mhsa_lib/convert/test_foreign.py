"""What is accepted of BERT's attention and of torch's, and what is refused."""

from importlib.metadata import version

import pytest
import torch
from torch import nn
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.canine.configuration_canine import CanineConfig
from transformers.models.canine.modeling_canine import CanineAttention

from mhsa_lib import convert
from tests.helpers.drawn import rand
from tests.helpers.refusing import refuses
from tests.mhsa_lib.convert.foreign import random

five = pytest.mark.skipif(
    int(version("transformers").partition(".")[0]) < 5, reason="transformers 5 has this, 4 not"
)


def bert(**options) -> nn.Module:
    sizes = {"hidden_size": 12, "num_attention_heads": 3, "attn_implementation": "eager"}
    return random(BertAttention, [BertConfig(**sizes, **options)])


def test_a_missing_bias_of_bert_stays_missing():
    source = bert()
    source.self.value.bias = None
    ours, x = convert.from_bert(source), torch.randn(2, 5, 12)
    assert ours.project.W_V.bias is None
    torch.testing.assert_close(ours(x), source.output.dense(source.self(x)[0]))


@five
def test_the_scale_of_bert_is_that_of_the_source():
    source, x = bert(), torch.randn(2, 5, 12)
    source.self.scaling = 0.1
    ours = convert.from_bert(source)
    torch.testing.assert_close(ours(x), source.output.dense(source.self(x)[0]))


@five
def test_a_cross_attention_of_bert_reads_the_context():
    config = BertConfig(hidden_size=12, num_attention_heads=3, attn_implementation="eager")
    source = BertAttention(config, is_cross_attention=True).eval()
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    expected = source.output.dense(source.self(x, context)[0])
    torch.testing.assert_close(convert.from_bert(source)(x, context), expected)


def test_bert_with_positions_in_the_scores_is_refused():
    source = bert()
    source.self.distance_embedding = nn.Embedding(4, 4)
    refuses(lambda: convert.from_bert(source), "self.distance_embedding.weight has no place in")


def test_local_chunks_of_canine_are_refused():
    config = CanineConfig(hidden_size=12, num_attention_heads=3)
    source = CanineAttention(config, local=True)
    refuses(lambda: convert.from_bert(source), "local=True lets a token attend to its chunk")


@five
def test_a_way_to_attend_that_somebody_registered_is_refused():
    source = bert()
    source.self.config._attn_implementation = "mine"
    refuses(
        lambda: convert.from_bert(source),
        "_attn_implementation='mine' is not an attention of",
    )


def test_a_parameter_that_stands_twice_in_the_source_itself_is_named():
    source = nn.MultiheadAttention(12, 3, kdim=8, vdim=8)
    source.v_proj_weight = source.k_proj_weight
    refuses(lambda: convert.from_torch(source), "with copy.deepcopy(v_proj_weight)")


def test_norms_around_bert_may_be_in_another_precision():
    source, x = bert().to(torch.float64), rand(2, 5, 12)
    source.output.LayerNorm.float()
    expected = source.output.dense(source.self(x)[0])
    torch.testing.assert_close(convert.from_bert(source)(x), expected)


@pytest.mark.parametrize("bias", [True, False])
def test_torch_reads_a_context_of_another_width(bias):
    source = nn.MultiheadAttention(12, 3, kdim=5, vdim=5, bias=bias, batch_first=True)
    x, context = torch.randn(2, 4, 12), torch.randn(2, 7, 5)
    ours = convert.from_torch(source)
    assert ours.d_context == 5
    torch.testing.assert_close(ours(x, context), source(x, context, context)[0])


def test_a_quantizable_attention_of_torch_is_refused():
    words = "torch.ao.nn.quantizable.modules.activation.MultiheadAttention has no conv"
    refuses(
        lambda: convert.from_torch(torch.ao.nn.quantizable.MultiheadAttention(12, 3)),
        words,
        TypeError,
    )
