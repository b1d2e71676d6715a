"""Decoding with a cache is one pass in pieces."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import KVCache, masks
from mhsa_lib.cache import kv_cache
from mhsa_lib.rope.rotary import HALVES, Rotary, RotarySplit
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.kinds import BUILD, each
from tests.mhsa_lib.cache.pieces import cuts, decode

PREDICATES = st.sampled_from(
    [
        masks.causal,
        masks.sliding_window(2),
        masks.prefix(1) & masks.causal,
        masks.causal & masks.key_padding([3, 1]),
        masks.padding([4, 2]) & masks.causal,
        masks.causal & masks.custom(lambda query, key: (query - key) % 2 == 0),
        masks.causal & ~masks.causal,
    ]
)


@given(cuts(), PREDICATES, st.sampled_from(sorted(BUILD)))
def test_any_cut_under_any_causal_rule_is_one_pass(parts, mask, kind):
    attention, x = BUILD[kind](), rand(2, sum(parts), 12)
    found, _ = decode(attention, x, parts, mask)
    assert_close(found, attention(x, mask=mask))


@given(cuts(), st.integers(0, 1000))
def test_any_cut_under_a_drawn_mask_is_one_pass(parts, seed):
    """A boolean tensor is about the tokens kept: row by row what one pass would get."""
    torch.manual_seed(seed)
    attention, n = mha(bias=True), sum(parts)
    x, mask = rand(2, n, 12), (torch.rand(2, 3, n, n) < 0.6).tril()
    with kv_cache(attention):
        end, found = 0, []
        for part in x.split(parts, dim=1):
            start, end = end, end + part.shape[1]
            found.append(attention(part, mask=mask[..., start:end, :end]))
    assert_close(torch.cat(found, dim=1), attention(x, mask=mask))


@each
def test_the_prompt_in_one_call_gives_the_same_bits(attention):
    x = rand(2, 6, 12)
    for mask in (masks.causal, masks.sliding_window(2), masks.prefix(2)):
        with kv_cache(attention) as cache:
            found = attention(x, mask=mask)
        assert torch.equal(found, attention(x, mask=mask))
        assert cache.n_tokens == 6


def test_a_call_without_tokens_changes_nothing():
    attention, x = mha(), rand(2, 4, 12)
    found, cache = decode(attention, x, (0, 3, 0, 1), masks.causal)
    assert_close(found, attention(x, mask=masks.causal))
    assert cache.n_tokens == 4
    for window in (1, 3):
        rule = masks.sliding_window(window)
        found, cache = decode(attention, x, (0, 3, 0, 1, 0), rule, KVCache(window=window))
        assert_close(found, attention(x, mask=rule))
        assert cache.n_tokens == 4


def test_an_attention_inside_a_model_remembers():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = mha()

        def forward(self, x):
            return x + self.attention(x, mask=masks.causal)

    block, x = Block(), rand(2, 4, 12)
    with kv_cache(block):
        found = [block(part) for part in x.split([3, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), block(x))


def test_the_attention_may_be_given_itself_as_context():
    attention, x = mha(), rand(2, 4, 12)
    with kv_cache(attention):
        found = [attention(part, part, masks.causal) for part in x.split([3, 1], dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


def test_both_pairings_can_be_remembered():
    split = RotarySplit(3, Rotary(4, pairing=HALVES))
    attention, x = mha(split=split), rand(2, 4, 12)
    found, _ = decode(attention, x, (1, 2, 1), masks.causal)
    assert_close(found, attention(x, mask=masks.causal))
