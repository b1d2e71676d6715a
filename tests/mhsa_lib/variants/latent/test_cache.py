"""Of a token, both forms keep its latent and its rotated key."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.costs import variant_costs
from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import cases, latent


@settings(max_examples=15)
@given(cases(), st.booleans())
def test_a_token_leaves_its_latent_and_its_rotated_key_and_nothing_else(case, absorb):
    mla, sizes = case
    x, form = rand(2, 5, mla.d_model), AbsorbedLatentAttention(mla) if absorb else mla
    with trace(mla) as wires:
        expected = mla(x, mask=masks.causal)
    with kv_cache(form) as cache:
        y = [form(part, mask=masks.causal) for part in x.split([2, 1, 2], dim=1)]
    assert_close(torch.cat(y, dim=1), expected)
    assert list(cache.wires) == ["latent", "k_rope"]
    assert_close(cache.wires["latent"], wires["latent"])
    assert_close(cache.wires["k_rope"], wires["k_rope"])
    kept = variant_costs.latent(**sizes, n=1)
    assert cache.bytes == kept.cache_bytes(5, itemsize=8) * 2
    assert kept.cached == {name: wire.shape[-1] for name, wire in cache.wires.items()}


def test_what_one_form_kept_the_other_can_use():
    mla, x = latent(12, 3, 5, 2), rand(2, 6, 12)
    absorbed = AbsorbedLatentAttention(mla)
    with kv_cache(mla) as first:
        mla(x[:, :4], mask=masks.causal)
    with kv_cache(absorbed, cache=first):
        y = absorbed(x[:, 4:], mask=masks.causal)
    assert_close(y, mla(x, mask=masks.causal)[:, 4:])
