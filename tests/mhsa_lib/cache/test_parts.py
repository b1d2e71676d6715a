"""A text in parts is one pass, with padding and under a window too."""

import pytest
import torch

from mhsa_lib import KVCache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import left_padded, right_padded
from tests.mhsa_lib.cache.caches import fused
from tests.mhsa_lib.cache.comparing import as_if_alone, assert_close


@pytest.mark.parametrize("window", [None, 3])
def test_any_parts_of_a_text_are_one_pass(kind, window):
    x = rand(2, 9, 12)
    kind.open(window=window)
    found = torch.cat([kind.call(part) for part in x.split([4, 1, 2, 1, 1], dim=1)], dim=1)
    assert kind.cache.lengths == [9, 9]
    assert_close(found, kind.alone(x))


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("padded", [left_padded, right_padded])
def test_padding_is_as_if_it_were_not_there(kind, padded, window):
    positions, x, later = padded([4, 1]), rand(2, 4, 12), rand(2, 3, 12)
    y = kind.open(window=window).call(x, positions=positions)
    steps = [kind.call(token) for token in later.split(1, dim=1)]
    assert kind.cache.lengths == [7, 4]
    texts = [torch.cat([x[i, row >= 0], later[i]]) for i, row in enumerate(positions)]
    steps = torch.cat(steps, dim=1)
    as_if_alone(
        kind, texts, [torch.cat([y[i, row >= 0], steps[i]]) for i, row in enumerate(positions)]
    )


@pytest.mark.parametrize("window", [None, 3])
def test_another_default_device_changes_nothing(kind, window):
    x, later = rand(2, 4, 12), rand(2, 3, 12)
    kind.open(window=window)
    with torch.device("meta"):
        kind.cache.reset()
        kind.call(x, positions=[[0, 1, 2, -1], [0, 1, 2, 3]])
        kind.cache.reorder([0, 0])
        steps = [kind.call(token) for token in later.split(1, dim=1)]
    expected = kind.alone(torch.cat([x[:1, :3], later[:1]], dim=1))
    assert_close(torch.cat(steps, dim=1)[:1], expected[:, -3:])


def test_memory_that_was_taken_for_inference_is_written_to_outside_of_it():
    x, attention = rand(2, 5, 12), fused()
    with torch.inference_mode():
        cache = KVCache(max_length=6)
        first = attention(x[:, :3], mask=masks.causal, cache=cache)
    with torch.no_grad():
        rest = attention(x[:, 3:], mask=masks.causal, cache=cache)
        whole = attention(x, mask=masks.causal)
    assert_close(torch.cat([first, rest], dim=1), whole)


MASKS = [None, masks.causal, masks.sliding_window(5), masks.prefix(2)]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("parts", [(6,), (1,) * 6, (4, 1, 1)], ids=str)
def test_under_a_window_nobody_looks_past_it_however_the_text_is_cut(kind, mask, parts):
    x = rand(2, 6, 12)
    kind.open(window=2)
    given = {} if mask is None else {"mask": mask}
    found = torch.cat([kind.plainly(part, **given) for part in x.split(parts, dim=1)], dim=1)
    assert_close(found, kind.alone(x))


@pytest.mark.bothways
def test_under_a_window_a_tensor_is_refused(kind):
    kind.open(window=2)
    with pytest.raises(TypeError, match="under a window no slot has a position of its own"):
        kind.call(rand(2, 3, 12), mask=torch.ones(3, 3).bool())


def test_a_cache_that_was_reset_is_a_new_one(kind):
    kind.open().call(rand(3, 3, 12), positions=[[0, 1, 2], [0, -1, -1], [0, 1, -1]])
    kind.cache.reset()
    assert not any(kind.cache.lengths)
    x = rand(2, 4, 12)
    assert_close(kind.call(x), kind.alone(x))
