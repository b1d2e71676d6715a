"""Under a window a cache forgets what nobody looks at any more."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.cache.positions import right_padded
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.cache.remembering.kinds import each
from tests.mhsa_lib.cache.remembering.pieces import cuts, decode


@given(cuts(), st.integers(1, 4))
def test_a_window_keeps_one_token_less_than_it_is_wide(parts, window):
    attention, x, rule = mha(), rand(2, sum(parts), 12), masks.sliding_window(window)
    found, cache = decode(attention, x, parts, rule, window=window)
    assert_close(found, attention(x, mask=rule))
    assert cache.n_tokens == min(sum(parts), window - 1)


@each
def test_a_window_over_ragged_sequences(attention):
    x, later, rule = rand(2, 4, 12), rand(2, 3, 12), masks.sliding_window(2)
    with remember(attention, window=2) as cache:
        cache.announce(right_padded([4, 1]))
        attention(x, mask=rule)
        steps = [attention(token, mask=rule) for token in later.split(1, dim=1)]
    for item, n in enumerate((4, 1)):
        alone = attention(torch.cat([x[item, :n], later[item]]), mask=rule)
        assert_close(torch.cat(steps, dim=1)[item], alone[-3:])
    assert cache.n_tokens == 1


def test_a_window_makes_room_where_the_length_has_an_end():
    attention, x, rule = mha(), rand(9, 12), masks.sliding_window(3)
    found, _ = decode(attention, x, (1,) * 9, rule, length=3, window=3)
    assert_close(found, attention(x, mask=rule))
