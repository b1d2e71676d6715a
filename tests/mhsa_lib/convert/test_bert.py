"""BERT's attention in our five stages: same numbers in, same numbers out."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertAttention, BertModel

from mhsa_book import costs
from mhsa_lib import convert, masks, trace, trace_ops
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.precision import DTYPE, close
from tests.mhsa_lib.convert.sources import SIZE, additive, bert, randomized


@settings(max_examples=15)
@given(SIZE, SIZE, SIZE, DTYPE, st.sampled_from(["none", "padding", "causal"]))
def test_a_bert_layer_gives_the_same_numbers(n_heads, d_head, n, dtype, kind):
    source = bert(n_heads, d_head, dtype)
    ours, x = convert.from_bert(source), rand(2, n, n_heads * d_head).to(dtype)
    predicate = {"none": None, "padding": masks.key_padding([n, 1]), "causal": masks.causal}[
        kind
    ]
    dense = None if predicate is None else predicate.dense(n, n).expand(2, 1, n, n)
    added = None if dense is None else additive(dense, dtype)
    inner, weights = source.self(x, attention_mask=added)
    with trace(ours) as wires:
        y = ours(x, mask=predicate)
    close(y, source.output.dense(inner))
    close(wires["weights"], weights)


def test_the_whole_bert_layer_is_ours_plus_residual_and_norm():
    source, x = bert(3, 4), rand(2, 5, 12)
    expected = source(x)[0]
    close(source.output.LayerNorm(convert.from_bert(source)(x) + x), expected)


@pytest.mark.parametrize(("kind", "written"), [("eager", True), ("sdpa", False)])
def test_what_a_bert_layer_writes_depends_on_its_implementation(kind, written):
    config = BertConfig(hidden_size=12, num_attention_heads=3, attn_implementation=kind)
    source, n = randomized(BertAttention(config), torch.float64), 11
    ops = trace_ops(source, rand(2, n, 12))
    assert any(op.shape[-2:] == (n, n) for op in ops) == written
    assert ops.flops == sum(costs.flops(n, 12, 3, batch=2).values())


def test_a_model_that_was_asked_for_its_weights_is_converted():
    """transformers leaves hooks on its attentions, which copy outputs and change none."""
    options = {"hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 12}
    config = BertConfig(num_hidden_layers=1, vocab_size=7, **options)
    model = BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        model(torch.tensor([[1, 2, 3]]), output_attentions=True)
    layer = model.encoder.layer[0].attention
    assert layer.self._forward_hooks, "transformers hooks nothing any more: drop the exception"
    x = rand(1, 3, 12).float()
    with torch.no_grad():
        expected = layer.output.dense(layer.self(x)[0])
        close(convert.from_bert(layer)(x), expected)
