"""A with block leaves nothing behind, however it ends, and acts on its own module."""

import copy
import threading

import pytest
import torch
from torch import nn

from mhsa_lib import MultiHeadAttention, _torch_private, edit, kv_cache, masks, trace
from mhsa_lib.tracing.hooks import Hooks
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.attached import hooks


def test_a_copy_made_inside_a_block_is_a_plain_module():
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x)
    with edit(attention, "z", torch.zeros_like), trace(attention) as wires, kv_cache(attention):
        twin = copy.deepcopy(attention)
        assert torch.equal(twin(x), plain)
        assert list(wires) == []
    assert torch.equal(twin(x), plain)
    assert list(wires) == []


BLOCKS = {
    "trace": trace,
    "edit": lambda model: edit(model, "z", torch.abs),
    "kv_cache": kv_cache,
}
each = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)


@each
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_a_block_that_breaks_leaves_no_hook(block, error):
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x, mask=masks.causal)

    def breaks(value):
        raise error

    with pytest.raises(error), block(attention):
        raise error
    assert hooks(attention) == 0
    with pytest.raises(error), block(attention), edit(attention, "weights", breaks):
        attention(x, mask=masks.causal)
    assert hooks(attention) == 0
    assert torch.equal(attention(x, mask=masks.causal), plain)


@each
def test_a_generator_that_is_given_up_leaves_no_hook(block):
    attention = mha()

    def passes():
        with block(attention):
            while True:
                yield attention(rand(2, 1, 12))

    waiting = passes()
    next(waiting)
    assert hooks(attention) > 0
    waiting.close()
    assert hooks(attention) == 0


@each
def test_blocks_in_a_block_and_one_after_another(block):
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x, mask=masks.causal)
    with block(attention):
        with trace(attention) as inner, edit(attention, "z", torch.zeros_like):
            attention(x, mask=masks.causal)
        assert len(inner) == 11
    assert hooks(attention) == 0
    for _ in range(2):
        with block(attention):
            attention(x, mask=masks.causal)
    assert hooks(attention) == 0
    assert torch.equal(attention(x, mask=masks.causal), plain)


def test_a_hook_acts_while_its_block_is_open_and_on_its_module():
    one, other, seen = nn.Identity(), nn.Identity(), []
    with Hooks(one) as block:
        block.before(one, lambda module, args, kwargs: seen.append("before"))
        block.after(one, lambda module, args, output: output + 1)
        block.after(one, lambda module, args, output: seen.append(output), always=True)
        assert one(torch.zeros(())) == 1
        assert other(torch.zeros(())) == 0
    assert one(torch.zeros(())) == 0
    assert seen == ["before", torch.ones(())]


def test_the_garbage_collector_may_close_a_block_while_another_opens(monkeypatch):
    attention, forgotten = mha(), [trace(mha())]
    forgotten[0].__enter__()
    known = _torch_private.compiler_is_loaded

    def collected():
        while forgotten:
            forgotten.pop().__exit__(None, None, None)
        return known()

    def work():
        with edit(attention, "z", torch.zeros_like):
            assert not attention(rand(2, 5, 12)).any()

    monkeypatch.setattr(_torch_private, "compiler_is_loaded", collected)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_the_default_is_an_attention_that_knows_nothing_of_hooks():
    assert hooks(MultiHeadAttention(12, 3)) == 0
