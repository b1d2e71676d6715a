"""The sizes of recent models are those of the published configurations."""

import pytest
from transformers import GptOssConfig, MiniMaxM2Config, Qwen3_5MoeTextConfig

from mhsa_book.costs import models_2026, recent

THEIRS = {
    recent.GPT_OSS: GptOssConfig(),
    recent.MINIMAX_M2: MiniMaxM2Config(),
    recent.QWEN3_5: Qwen3_5MoeTextConfig(),
}


@pytest.mark.parametrize("model", recent.RECENT, ids=lambda model: model.name)
def test_sizes_are_the_defaults_of_transformers(model):
    theirs = THEIRS[model]
    assert model.d_model == theirs.hidden_size
    assert model.n_heads == theirs.num_attention_heads
    assert model.n_kv_heads == theirs.num_key_value_heads
    assert model.d_head == theirs.head_dim


def test_layers_that_keep_everything_are_counted():
    oss, qwen = THEIRS[recent.GPT_OSS], THEIRS[recent.QWEN3_5]
    assert recent.GPT_OSS.layers == oss.num_hidden_layers
    assert recent.GPT_OSS.window == oss.sliding_window
    assert recent.GPT_OSS.global_layers == oss.layer_types.count("full_attention")
    assert recent.MINIMAX_M2.layers == THEIRS[recent.MINIMAX_M2].num_hidden_layers
    assert recent.QWEN3_5.layers == qwen.layer_types.count("full_attention")
    assert qwen.num_hidden_layers == 40
    assert {*qwen.layer_types} == {"full_attention", "linear_attention"}


def test_what_is_kept():
    n = 131_072
    assert recent.GPT_OSS.kept_bytes(n) == 18 * 2 * 8 * 64 * 2 * (n + 128)
    assert recent.MINIMAX_M2.cache_bytes(1) == 62 * 2 * 8 * 128 * 2
    assert recent.QWEN3_5.cache_bytes(1) == 10 * 2 * 2 * 256 * 2


def test_both_tables_tell_the_same_of_a_model():
    near, far = 10_000, 100_000
    for model in (recent.GPT_OSS, recent.QWEN3_5):
        layers = models_2026.find(model.name)
        grows = layers.kept_bytes(far) - layers.kept_bytes(near)  # without windows and states
        assert model.kept_bytes(far) - model.kept_bytes(near) == grows
