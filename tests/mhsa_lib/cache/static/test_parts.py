"""The fused module decodes a text in parts to the numbers of one pass."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import testing

from mhsa_lib import masks
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.static.heads import KV_HEADS, assert_close, build, decode, each

RULES = st.sampled_from(
    [
        masks.causal,
        masks.sliding_window(2),
        masks.causal & masks.key_padding([3, 1]),
        masks.causal & ~masks.causal,
    ]
)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3), RULES, st.sampled_from(list(KV_HEADS))
)
def test_any_cut_under_any_causal_rule_is_one_pass(parts, mask, kind):
    fused, x = build(kind), rand(2, sum(parts), 12)
    found, cache = decode(fused, x, parts, mask)
    assert_close(found, fused(x, mask=mask))
    assert cache.n_tokens == sum(parts)


@each
def test_a_drawn_mask_is_about_the_tokens_kept(fused):
    x, mask = rand(2, 6, 12), (torch.rand(2, 6, 6, 6) < 0.6).tril()
    cache = fused.cache(2, 6)
    found = [
        fused(x[:, i : i + 2], mask=mask[..., i : i + 2, : i + 2], cache=cache)
        for i in (0, 2, 4)
    ]
    assert_close(torch.cat(found, dim=1), fused(x, mask=mask))


@each
def test_it_keeps_what_remember_keeps(fused):
    staged, x = fused.to_attention(), rand(2, 5, 12)
    found, cache = decode(fused, x, (3, 1, 1), masks.causal)
    with remember(staged) as kept:
        expected = [staged(part, mask=masks.causal) for part in x.split((3, 1, 1), dim=1)]
    assert_close(found, torch.cat(expected, dim=1))
    assert_close(cache.k[..., :5, :], kept["k_heads"])
    assert_close(cache.v[..., :5, :], kept["v_heads"])


@pytest.mark.parametrize("padded", [left_padded, right_padded])
@each
def test_ragged_prompts_then_tokens_are_as_if_alone(fused, padded):
    positions, x, later = padded([4, 2, 0]), rand(3, 4, 12), rand(3, 3, 12)
    cache = fused.cache(3, 7)
    cache.announce(positions)
    fused(x, mask=masks.causal, cache=cache)
    steps = [fused(token, mask=masks.causal, cache=cache) for token in later.split((1, 2), 1)]
    for item, row in enumerate(positions):
        alone = fused(torch.cat([x[item, row >= 0], later[item]]), mask=masks.causal)
        assert_close(torch.cat(steps, dim=1)[item], alone[-3:])


def test_a_pass_with_a_cache_has_no_gradients():
    fused, x = build("plain"), rand(2, 3, 12).requires_grad_()
    assert fused(x).requires_grad
    assert not fused(x, mask=masks.causal, cache=fused.cache(2, 3)).requires_grad


def test_under_autocast_the_cache_is_as_narrow_as_the_numbers():
    fused, x = build("grouped").float(), torch.randn(2, 6, 12)
    cache = fused.cache(2, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = [fused.prefill(x[:, :4], cache), fused.step(x[:, 4:5], cache)]
        found.append(fused.step(x[:, 5:], cache))
    whole = fused(x, mask=masks.causal)
    testing.assert_close(torch.cat(found, dim=1).float(), whole, rtol=0.05, atol=0.1)
    assert cache.bytes == fused.cache(2, 6).bytes // 2
    with pytest.raises(ValueError, match=r"k is torch.float32, the cache torch.bfloat16"):
        fused.step(x[:, :1], fused.cache(2, 6, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    "view",
    {
        "turned": lambda x: x.mT.contiguous().mT,
        "every second": lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
        "expanded": lambda x: x[:1, :, :].expand(2, -1, -1),
    }.values(),
)
def test_x_may_lie_in_memory_in_any_way(view):
    fused, x = build("grouped"), view(rand(2, 6, 12))
    assert not x.is_contiguous()
    found, _ = decode(fused, x, (3, 1, 2), masks.causal)
    assert_close(found, fused(x.contiguous(), mask=masks.causal))
