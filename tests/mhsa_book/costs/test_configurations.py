"""Sizes of real models: what is published about their cache comes out of the data."""

import pytest
import torch

from mhsa_book.costs.configurations import (
    ACCELERATORS,
    CONFIGURATIONS,
    DEEPSEEK_V3,
    LATENT,
    TABLE_3A,
    find,
)
from mhsa_lib.variants import LatentAttention

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "per_token", "gib"),
    [
        ("GPT-2", 36_864, 4.5),
        ("Qwen2.5 7B", 57_344, 7),
        ("Llama 3.1 8B", 131_072, 16),
        ("Llama 3.1 70B", 327_680, 40),
        ("Llama 3.1 405B", 516_096, 63),
    ],
)
def test_the_cache_of_131_072_tokens(name, per_token, gib):
    model = find(name)
    assert model.cache_bytes(1) == per_token
    assert model.cache_bytes(131_072) == gib * GIB


def test_sharing_keys_divides_the_cache():
    llama = find("Llama 3.1 405B")
    everyone = llama.with_kv_heads(llama.n_heads)
    assert everyone.cache_bytes(1) == 16 * llama.cache_bytes(1) == 8_257_536
    assert llama.with_kv_heads(1).cache_bytes(8) == llama.cache_bytes(1)
    assert llama.cache_bytes(7, batch=3, itemsize=1) * 2 == llama.cache_bytes(7, batch=3)


def test_a_latent_is_smaller_than_any_of_the_large_caches():
    assert DEEPSEEK_V3.cache_bytes(1) == 70_272
    assert DEEPSEEK_V3.cache_bytes(131_072, batch=2) == 2 * 131_072 * 70_272
    assert round(find("Qwen2.5 72B").cache_bytes(1) / DEEPSEEK_V3.cache_bytes(1), 2) == 4.66
    assert round(find("Llama 3.1 405B").cache_bytes(1) / DEEPSEEK_V3.cache_bytes(1), 2) == 7.34


@pytest.mark.parametrize(
    ("name", "cached", "per_token", "all_heads", "ratio"),
    [
        ("DeepSeek-V2-Lite", 576, 31_104, 221_184, 7.1),
        ("DeepSeek-V2", 576, 69_120, 3_932_160, 56.9),
        ("DeepSeek-V3", 576, 70_272, 3_997_696, 56.9),
    ],
)
def test_the_cache_of_latents(name, cached, per_token, all_heads, ratio):
    model = find(name, LATENT)
    everyone = model.with_kv_heads(model.n_heads)
    assert (model.cached, model.cache_bytes(1)) == (cached, per_token)
    assert everyone.cache_bytes(1) == all_heads
    assert round(everyone.cache_bytes(1) / model.cache_bytes(1), 1) == ratio


def test_how_small_a_latent_is_depends_on_what_it_is_compared_with():
    v3, bytes_of = DEEPSEEK_V3, DEEPSEEK_V3.cache_bytes(1)
    as_made = v3.n_heads * (v3.d_head + v3.d_rope + v3.d_head)  # its keys and values, made
    assert (as_made, round(as_made / v3.cached, 1)) == (40_960, 71.1)
    assert round(v3.with_kv_heads(8).cache_bytes(1) / bytes_of, 2) == 3.56
    assert round(v3.with_kv_heads(1).cache_bytes(1) / bytes_of, 2) == 0.44
    assert v3.cached / (2 * v3.d_head) == 2.25  # groups of heads with the same cache


def test_parameters_of_latent_attention():
    v3 = DEEPSEEK_V3.parameters()
    assert v3.pop("norms") == 1536 + 512
    assert sum(v3.values()) == 187_105_280
    v2 = find("DeepSeek-V2", LATENT).parameters()
    assert sum(v2.values()) - v2["norms"] == 149_225_472
    assert "W_DQ" not in find("DeepSeek-V2-Lite", LATENT).parameters()
    for model in LATENT:
        sizes = model.d_model, model.n_heads, model.d_latent, model.d_rope
        with torch.device("meta"):
            built = LatentAttention(*sizes, d_head=128, d_q_latent=model.d_q_latent)
        learned = sum(parameter.numel() for parameter in built.parameters())
        assert learned == sum(model.parameters().values())


def test_parameters_of_a_layer():
    assert sum(find("Llama 3.1 8B").parameters().values()) == 41_943_040
    gpt2, qwen = find("GPT-2").parameters(), find("Qwen2.5 7B").parameters()
    assert sum(gpt2.values()) == 4 * 768**2 + 4 * 768
    assert qwen["W_K"] == 3584 * 512 + 512
    assert qwen["W_O"] == 3584**2


def test_every_group_of_heads_is_whole_and_every_name_is_there_once():
    assert all(model.n_heads % model.n_kv_heads == 0 for model in CONFIGURATIONS)
    names = [entry.name for entry in (*CONFIGURATIONS, *LATENT, *ACCELERATORS)]
    assert len(set(names)) == len(names)


def test_the_note_on_a_free_width_is_true():
    said = {model.name for model in CONFIGURATIONS if "n_heads · d_head" in model.note}
    free = {m.name for m in CONFIGURATIONS if m.n_heads * m.d_head != m.d_model}
    local = {model.name for model in CONFIGURATIONS if "window" in model.note}
    assert said == free - local
    assert {"Gemma 7B", "Qwen3 0.6B"} <= said


def test_the_rows_of_table_3_share_one_budget():
    assert all(512 % row.n_heads == 0 for row in TABLE_3A)
    best = [row.n_heads for row in TABLE_3A if row.bleu == max(r.bleu for r in TABLE_3A)]
    assert best == [8, 16]
    assert min(TABLE_3A, key=lambda row: row.perplexity).n_heads == 16


def test_a_name_that_is_unknown_is_answered_with_those_that_are():
    with pytest.raises(ValueError, match=r"'GPT-9' is not in this list; choose one of 'GPT-2'"):
        find("GPT-9")
    with pytest.raises(ValueError, match="n_tokens=0 is not a size"):
        DEEPSEEK_V3.cache_bytes(0)
    with pytest.raises(ValueError, match="n_kv_heads=5 does not divide n_heads=12"):
        find("GPT-2").with_kv_heads(5).parameters()


@pytest.mark.parametrize(
    ("name", "layers", "window", "everywhere"),
    [
        ("Gemma 2 2B", 26, 4096, 13),
        ("Gemma 2 9B", 42, 4096, 21),
        ("Gemma 2 27B", 46, 4096, 23),
        ("Gemma 3 1B", 26, 512, 4),
        ("Gemma 3 4B", 34, 1024, 5),
        ("Gemma 3 12B", 48, 1024, 8),
        ("Gemma 3 27B", 62, 1024, 10),
    ],
)
def test_a_window_keeps_no_more_than_itself(name, layers, window, everywhere):
    model = find(name)
    of_a_layer = model.cache_bytes(1) // layers
    held = everywhere * 131_072 + (layers - everywhere) * window
    assert model.kept_bytes(131_072) == held * of_a_layer
    assert model.kept_bytes(window) == model.cache_bytes(window)
    every = 2 if "Gemma 2" in name else 6  # so many layers, and the last of them looks far
    assert everywhere == layers // every


def test_a_text_longer_than_the_table_of_positions_is_refused():
    assert find("GPT-2").kept_bytes(1024) == find("GPT-2").cache_bytes(1024)
    with pytest.raises(ValueError, match="n_tokens=1,025, and GPT-2 has positions for 1,024"):
        find("GPT-2").kept_bytes(1025)
    assert find("Llama 3.1 8B").kept_bytes(131_072) == find("Llama 3.1 8B").cache_bytes(131_072)
