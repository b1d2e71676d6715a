"""Without a mask several tokens at once would attend to their future: every cache refuses."""

import pytest
import torch

from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.comparing import assert_close, kept


@pytest.mark.parametrize("n_before", [0, 2])
def test_several_tokens_without_a_mask_are_refused_and_leave_no_trace(kind, n_before):
    x = rand(2, n_before + 3, 12)
    kind.open()
    parts = [kind.call(x[:, i : i + 1]) for i in range(n_before)]
    before = kept(kind.cache)
    words = r"3 tokens came through a cache at once with mask=None.*; pass mask=masks\.causal"
    with pytest.raises(ValueError, match=words):
        kind.plainly(x[:, n_before:])
    assert kept(kind.cache) == before
    parts.append(kind.call(x[:, n_before:]))
    assert_close(torch.cat(parts, dim=1), kind.alone(x))


def test_one_token_at_a_time_needs_no_mask(kind):
    x = rand(2, 4, 12)
    kind.open()
    steps = [kind.plainly(token) for token in x.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), kind.alone(x))


def test_under_a_window_the_cache_itself_hides_the_future(kind):
    x = rand(2, 5, 12)
    kind.open(window=3)
    parts = [kind.plainly(part) for part in x.split([4, 1], dim=1)]
    assert_close(torch.cat(parts, dim=1), kind.alone(x))
