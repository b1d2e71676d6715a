"""What latent attention costs in both forms is what runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import cases, latent


def counted(form, *inputs):
    with trace(form) as wires:
        form(*inputs)
    return {name: step.flops for name, step in wires.steps.items() if step.flops}


@given(cases(), st.integers(1, 4))
def test_the_formulas_count_what_runs(case, n):
    mla, sizes = case
    x, absorbed = rand(n, mla.d_model), AbsorbedLatentAttention(mla)
    expected = variant_costs.latent(**sizes, n=n)
    assert counted(mla, x) == expected.flops
    assert counted(absorbed, x) == variant_costs.latent(**sizes, n=n, absorbed=True).flops
    learned = sum(p.numel() for name, p in mla.named_parameters() if "bias" not in name)
    assert learned == sum(expected.parameters.values())


@pytest.mark.parametrize("absorb", [False, True])
def test_one_more_token_after_many(absorb):
    sizes = {"d_model": 12, "n_heads": 3, "d_latent": 5, "d_rope": 2, "d_q_latent": 7}
    mla = latent(**sizes)
    form = AbsorbedLatentAttention(mla) if absorb else mla
    with kv_cache(form):
        form(rand(99, 12), mask=masks.causal)
        found = counted(form, rand(1, 12))
    assert found == variant_costs.latent(**sizes, n=1, n_key=100, absorbed=absorb).flops


def test_absorbed_nothing_is_made_again_from_the_cached_latents():
    sizes = {"d_model": 7168, "n_heads": 128, "d_latent": 512, "d_rope": 64}
    v3 = {**sizes, "d_head": 128, "d_q_latent": 1536}
    at = {
        n_key: {
            form: variant_costs.latent(**v3, n=1, n_key=n_key, absorbed=form).flops
            for form in (False, True)
        }
        for n_key in (1000, 2000)
    }
    again = {
        form: sum(at[2000][form].values()) - sum(at[1000][form].values()) for form in at[1000]
    }
    per_key = {form: more // 1000 for form, more in again.items()}
    assert per_key[False] == 2 * 512 * 128 * 256 + 2 * 128 * (192 + 128)
    assert per_key[True] == 2 * 128 * (576 + 512)
    # FLOPs per byte read from the cache in bfloat16: facts of decoding with absorbed matrices
    assert round(per_key[True] / (2 * 576), 1) == 241.8


def test_absorbed_costs_more_when_all_queries_come_at_once():
    v3 = {"d_model": 7168, "n_heads": 128, "d_latent": 512, "d_rope": 64, "d_head": 128}
    plain, absorbed = (
        sum(variant_costs.latent(**v3, n=4096, absorbed=form).flops.values())
        for form in (False, True)
    )
    assert absorbed > 1.5 * plain
