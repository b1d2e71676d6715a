"""A scaled text grows call by call as long as no kept key would have to turn again."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import convert, masks
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import TRAINED, rope, source


@pytest.mark.parametrize("name", ["linear", "proportional", "llama3", "yarn"])
def test_any_cut_of_a_stretched_text_gives_the_numbers_of_one_pass(name):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, 20, 12)
    with kv_cache(ours):
        found = [ours(part, mask=masks.causal) for part in x.split([3, 6, 1, 10], dim=1)]
    assert_close(torch.cat(found, dim=1), ours(x, mask=masks.causal))


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("dynamic", (3, 4, 1)),
        ("longrope", (3, 4, 1)),
        ("longrope", (TRAINED + 1, 1, 5)),
    ],
)
def test_a_text_whose_kept_keys_need_not_turn_again_can_grow(name, calls):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, sum(calls), 12)
    with kv_cache(ours):
        found = [ours(part, mask=masks.causal) for part in x.split(calls, dim=1)]
    assert_close(torch.cat(found, dim=1), ours(x, mask=masks.causal))


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("longrope", (7, 2)),
        ("longrope", (TRAINED, 1)),
        ("dynamic", (9, 1)),
        ("dynamic", (8, 4)),
    ],
)
def test_a_text_whose_kept_keys_would_turn_again_is_refused(name, calls):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, sum(calls), 12)
    first, second = x.split(calls, dim=1)
    words = rf"a text of {calls[0]} tokens continues to {sum(calls)}, where \w+Scaling rotates"
    with kv_cache(ours) as kept:
        ours(first, mask=masks.causal)
        with pytest.raises(ValueError, match=words):
            ours(second, mask=masks.causal)
        assert kept.n_tokens == calls[0]
        kept.reset()
        whole = ours(x, mask=masks.causal)
    assert_close(whole, ours(x, mask=masks.causal))
