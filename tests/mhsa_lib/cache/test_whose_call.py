"""A pass that is not the next of this text: repeated, transformed, or made by another task."""

import asyncio
from contextlib import ExitStack, contextmanager

import pytest
import torch
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_lib import KVCache, kv_cache, masks, trace
from tests.helpers.drawn import mha, rand


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_pass_that_a_checkpoint_repeats_is_refused(reentrant):
    attention, x = mha(), rand(2, 5, 12).requires_grad_()
    with kv_cache(attention) as cache:
        y = checkpoint(attention, x, None, masks.causal, use_reentrant=reentrant)
        with pytest.raises(
            RuntimeError, match=r"call of Multi.* block: a checkpoint repeats it"
        ):
            y.sum().backward()
    assert cache.lengths == [5, 5]


def test_a_call_that_torch_func_transforms_alone_is_refused():
    attention, x = mha(), rand(2, 5, 12)
    with kv_cache(attention) as cache:
        with pytest.raises(
            RuntimeError, match=r"call of MultiHead.* block: torch\.func is around it"
        ):
            torch.func.vmap(attention)(x)
        attention(x, mask=masks.causal)
    assert cache.lengths == [5, 5]


def test_a_block_inside_of_what_is_transformed_remembers():
    attention, x = mha(), rand(2, 5, 12)

    def in_parts(one):
        with kv_cache(attention):
            return torch.cat([attention(part, mask=masks.causal) for part in one.split([3, 2])])

    assert_close(torch.func.vmap(in_parts)(x), attention(x, mask=masks.causal))


# --- one thread, several tasks ---------------------------------------------------------------


def test_a_second_task_is_refused_and_the_first_goes_on():
    attention, x = mha(), rand(2, 5, 12)

    async def other():
        with pytest.raises(
            RuntimeError, match=r"call of Multi.* block: another task made the first"
        ):
            attention(rand(2, 1, 12))

    async def decode():
        with kv_cache(attention) as cache:
            parts = []
            for part in x.split([3, 1, 1], dim=1):
                parts.append(attention(part, mask=masks.causal))
                await asyncio.create_task(other())
        assert cache.lengths == [5, 5]
        return torch.cat(parts, dim=1)

    assert_close(asyncio.run(decode()), attention(x, mask=masks.causal))


def test_a_block_around_the_loop_serves_one_task():
    attention, x = mha(), rand(2, 4, 12)

    async def decode():
        parts = []
        for token in x.split(1, dim=1):
            parts.append(attention(token))
            await asyncio.sleep(0)
        return torch.cat(parts, dim=1)

    async def two():
        return await asyncio.gather(decode(), decode(), return_exceptions=True)

    with kv_cache(attention):
        found = asyncio.run(decode())
    assert_close(found, attention(x, mask=masks.causal))
    with kv_cache(attention):
        found, refused = asyncio.run(two())
    assert_close(found, attention(x, mask=masks.causal))
    assert isinstance(refused, RuntimeError)


def tokens(attention, x):
    with kv_cache(attention):
        for token in x.split(1, dim=1):
            yield attention(token)


def test_while_a_generator_waits_nobody_else_may_call():
    attention, x = mha(), rand(2, 4, 12)
    generator = tokens(attention, x)
    found = [next(generator)]
    with pytest.raises(RuntimeError, match=r"call of Multi.* block: its generator waits at"):
        attention(rand(2, 1, 12))
    found += generator
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


def test_blocks_that_a_generator_expression_opens_serve_whoever_opened_them():
    attention, x = mha(), rand(2, 2, 12)
    with ExitStack() as stack:
        opening = (stack.enter_context(kv_cache(module)) for module in [attention])
        cache = next(opening)
        attention(x, mask=masks.causal)
    assert cache.lengths == [2, 2]


def test_a_block_made_of_this_block_may_wait_at_its_yield():
    attention, x = mha(), rand(2, 4, 12)

    @contextmanager
    def decoding():
        with ExitStack() as stack:
            stack.enter_context(kv_cache(attention))
            yield attention

    with decoding() as step:
        found = [step(token) for token in x.split(1, dim=1)]
    assert_close(torch.cat(found, dim=1), attention(x, mask=masks.causal))


# --- what is handed out ----------------------------------------------------------------------


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("sizes", [(None, None), (5, None), (None, 4)])
def test_traced_wires_may_be_changed_in_place(outside, sizes):
    attention, x, cache = mha(), rand(2, 5, 12), KVCache(*sizes)
    with ExitStack() as stack, torch.no_grad():
        wires = stack.enter_context(trace(attention)) if outside else None
        stack.enter_context(kv_cache(attention, cache=cache))
        wires = wires if outside else stack.enter_context(trace(attention))
        found = []
        for part in x.split([2, 1, 2], dim=1):
            found.append(attention(part, mask=masks.causal).clone())
            for wire in wires.values():
                wire.zero_()
    assert_close(torch.cat(found, dim=1), attention(x, mask=cache.rule))
