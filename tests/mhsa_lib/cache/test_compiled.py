"""A compiled step stays compiled: what changes from token to token is a size in the graph."""

import pytest
import torch

from mhsa_lib import KVCache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.heads import assert_close, build

LENGTHS = {"even": [5, 5], "uneven": [5, 3]}


@pytest.mark.nohook
@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_compiled_decoding_is_compiled_once_and_again_for_any_number_of_tokens(lengths, window):
    """What changes from token to token becomes a size in the graph, and no new graph."""
    from torch._dynamo.testing import CompileCounter

    torch.compiler.reset()
    counter, fused = CompileCounter(), build("grouped")
    step = torch.compile(lambda x, cache: fused(x, cache=cache), backend=counter)
    x, compilations = rand(2, 30, 12), []
    for _ in range(2):  # another text, another cache
        caches = [KVCache(40, window) for _ in range(2)]
        for cache in caches:
            with cache.at(right_padded(lengths)):
                fused(x[:, :5], mask=masks.causal, cache=cache)
        for token in x[:, 5:].split(1, dim=1):
            assert_close(step(token, caches[0]), fused(token, cache=caches[1]))
            compilations.append(counter.frame_count)
    assert caches[0].lengths == caches[1].lengths
    assert compilations[0] == 1, "the step breaks into several graphs"
    assert compilations[3:] == [compilations[2]] * 47
    assert compilations[2] <= 3
    torch.compiler.reset()


@pytest.mark.nohook
def test_compiled_decoding_from_nothing_and_after_a_reorder_stays_compiled():
    from torch._dynamo.testing import CompileCounter

    torch.compiler.reset()
    counter, fused = CompileCounter(), build("plain")
    step = torch.compile(
        lambda x, cache: fused(x, cache=cache), backend=counter, fullgraph=True
    )
    caches = [KVCache(max_length=40) for _ in range(2)]
    compilations = []
    for i, token in enumerate(rand(2, 24, 12).split(1, dim=1)):
        assert_close(step(token, caches[0]), fused(token, cache=caches[1]))
        compilations.append(counter.frame_count)
        for cache in caches:
            cache.reorder([1, i % 2])
    assert compilations[3:] == [compilations[3]] * 21
    assert compilations[3] <= 4
    torch.compiler.reset()
