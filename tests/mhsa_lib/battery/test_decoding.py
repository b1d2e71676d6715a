"""Whatever is decoded in parts gives the numbers of one pass."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import KVCache, kv_cache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import left_padded, right_padded
from tests.mhsa_lib.variants.registry import staged

PARTS = {(6,): (2,), (1,) * 6: (2,), (3, 1, 2): (), (1, 5): (2, 3)}
"""Into which parts a text is cut, and the leading axes that it has then."""


@staged
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_any_cut_into_calls_gives_the_numbers_of_one_pass(variant, attention, parts):
    x = rand(*PARTS[parts], 6, 12)
    for mask in (masks.causal, masks.sliding_window(3)):
        with kv_cache(attention):
            found = [attention(part, mask=mask) for part in x.split(parts, dim=-2)]
        assert_close(torch.cat(found, dim=-2), attention(x, mask=mask))


@staged
@pytest.mark.parametrize("padded", [left_padded, right_padded])
def test_sequences_of_different_lengths_decode_as_if_alone(variant, attention, padded):
    lengths, prompts, later = (4, 2), [rand(4, 12), rand(2, 12)], rand(2, 3, 12)
    positions, x = padded(lengths), rand(2, 4, 12)
    for item, prompt in enumerate(prompts):
        x[item, positions[item] >= 0] = prompt
    with kv_cache(attention, positions):
        y = attention(x, mask=masks.causal)
        steps = [attention(later[:, i : i + 1], mask=masks.causal) for i in range(3)]
    for item, prompt in enumerate(prompts):
        alone = attention(torch.cat([prompt, later[item]]), mask=masks.causal)
        real = y[item, positions[item] >= 0]
        assert_close(torch.cat([real, torch.cat(steps, dim=1)[item]]), alone)


@staged
def test_a_window_forgets_what_it_cannot_reach(variant, attention):
    x, mask = rand(2, 9, 12), masks.sliding_window(3)
    with kv_cache(attention, cache=KVCache(window=3)) as cache:
        y = [attention(part, mask=mask) for part in x.split([4, 1, 2, 1, 1], dim=1)]
    assert_close(torch.cat(y, dim=1), attention(x, mask=mask))
    assert cache.lengths == [9, 9]
    assert all(3 in wire.shape for wire in cache.wires.values())
