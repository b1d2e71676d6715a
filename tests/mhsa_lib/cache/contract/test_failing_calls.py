"""A call that fails changes nothing."""

import pytest
import torch

from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.contract.comparing import assert_close, kept


def failing(kind):
    """One call of which the very last part fails."""
    attention = getattr(kind.attention, "attention", kind.attention)

    def out_of_memory(module, args):
        raise RuntimeError("out of memory")

    handle = attention.W_O.register_forward_pre_hook(out_of_memory)
    try:
        kind.call(rand(2, 1, 12))
    finally:
        handle.remove()


FAILING = {
    "another batch": (
        lambda k: k.call(rand(3, 1, 12)),
        ValueError,
        "but x has \\(3,\\); go on",
    ),
    "more axes": (
        lambda k: k.call(rand(2, 2, 1, 12)),
        ValueError,
        "but x has \\(2, 2\\)|leading",
    ),
    "no room": (
        lambda k: k.call(rand(2, 10, 12)),
        ValueError,
        "12 tokens of a sequence, 3 have come and 10 more come; give it a length of 13 or more",
    ),
    "a context": (
        lambda k: k.call(rand(2, 1, 12), context=rand(2, 4, 12)),
        ValueError,
        "a cache grows with x, but a context was given",
    ),
    "a wrong width": (lambda k: k.call(rand(2, 1, 8)), ValueError, "x is 8 wide"),
    "whole numbers": (
        lambda k: k.call(torch.ones(2, 1, 12, dtype=torch.long)),
        TypeError,
        "x has dtype torch.int64; attention needs floating point",
    ),
    "a sparse tensor": (
        lambda k: k.call(rand(2, 1, 12).to_sparse()),
        TypeError,
        "x has the layout torch.sparse_coo; pass a dense tensor",
    ),
    "a nested tensor": (
        lambda k: k.call(torch.nested.nested_tensor([rand(1, 12)] * 2, layout=torch.jagged)),
        TypeError,
        "x is a nested tensor; pass a dense one",
    ),
    "a mask of numbers": (
        lambda k: k.call(rand(2, 1, 12), torch.ones(1, 4)),
        TypeError,
        "mask has dtype torch.float32, not bool",
    ),
    "a mask that does not fit": (
        lambda k: k.call(rand(2, 1, 12), torch.ones(1, 9).bool()),
        ValueError,
        r"mask \(1, 9\) does not fit scores \(2, \d, 1, 4\)",
    ),
    "another dtype of x": (
        lambda k: k.call(rand(2, 1, 12).float()),
        ValueError,
        "torch.float32",
    ),
    "W_O fails": (failing, RuntimeError, "out of memory"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", FAILING)
def test_a_call_that_fails_changes_nothing(kind, name):
    call, error, words = FAILING[name]
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    with pytest.raises(error, match=words):
        call(kind)
    assert kept(kind.cache) == before
    last = kind.call(x[:, 3:])
    assert_close(torch.cat([first, last], dim=1), kind.alone(x))


@pytest.mark.bothways
def test_a_model_that_moved_to_another_precision_is_refused(kind):
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    kind.moved(torch.float32)
    with pytest.raises(ValueError, match=r"float64.*float32|float32.*float64"):
        kind.call(x[:, 3:].float())
    assert kept(kind.cache) == before
    assert first.shape == (2, 3, 12)


@pytest.mark.bothways
def test_a_model_that_moved_to_another_device_is_refused(kind):
    kind.open(2).call(rand(2, 3, 12))
    before = kept(kind.cache)
    kind.moved("meta")
    words = "the cache is on cpu, but x is on meta; move x, or start another cache there"
    with pytest.raises(ValueError, match=words):
        kind.call(rand(2, 1, 12).to("meta"))
    assert kept(kind.cache) == before
