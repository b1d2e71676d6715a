"""A with block acts in its own thread, and in those of its backward pass."""

import threading

import pytest
import torch
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_lib import edit, kv_cache, masks, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.attached import hooks


def in_threads(n, work):
    """Run ``work(i)`` in n threads that start together; errors come back."""
    gate, errors = threading.Barrier(n), []

    def run(i):
        try:
            gate.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_four_threads_trace_one_module_and_each_sees_its_own_pass():
    attention = mha()

    def work(i):
        for n in range(25):
            x = rand(1 + i, 3 + n % 4, 12)
            with trace(attention) as wires:
                y = attention(x)
            assert wires["y"] is y
            assert wires.inputs == {"x": x}
            assert (wires["q"].shape, len(wires)) == (x.shape, 11)

    in_threads(4, work)
    assert hooks(attention) == 0


def test_four_threads_edit_one_module_and_each_for_itself():
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x)

    def work(i):
        for _ in range(25):
            with edit(attention, "y", lambda y: y + i):
                found = attention(x)
            assert_close(found, plain + i)
            assert torch.equal(attention(x), plain)

    in_threads(4, work)
    assert hooks(attention) == 0


def test_four_threads_decode_with_one_module_and_each_from_its_own_cache():
    attention = mha()

    def work(i):
        for _ in range(10):
            x = rand(1 + i, 6, 12)
            with kv_cache(attention) as cache:
                parts = [attention(p, mask=masks.causal) for p in x.split([3, 1, 2], dim=1)]
            assert cache.n_tokens == 6
            assert_close(torch.cat(parts, dim=1), attention(x, mask=masks.causal))

    in_threads(4, work)
    assert hooks(attention) == 0


def test_a_thread_without_a_block_gets_the_plain_function():
    attention, x = mha(), rand(2, 5, 12)
    plain, found = attention(x), []
    with trace(attention) as wires, edit(attention, "z", torch.zeros_like), kv_cache(attention):
        thread = threading.Thread(target=lambda: found.append(attention(x)))
        thread.start()
        thread.join()
        assert list(wires) == []
        assert not attention(x, mask=masks.causal).any()
    assert torch.equal(found[0], plain)


def deep(attention, x, depth):
    """Checkpoints in checkpoints: other threads compute the inner ones again."""
    if not depth:
        return attention(x)
    return checkpoint(deep, attention, x, depth - 1, use_reentrant=True)


def test_a_pass_that_a_backward_thread_computes_again_is_edited_too():
    attention, x = mha(), rand(5, 12).requires_grad_()
    seen = set()
    attention.register_forward_hook(lambda *_: seen.add(threading.get_ident()))
    with edit(attention, "z", lambda z: 3 * z):
        (expected,) = torch.autograd.grad(attention(x).square().sum(), x)
        deep(attention, x, 70).square().sum().backward()
    assert len(seen) > 1, "one thread did all the work: nothing is shown"
    assert_close(x.grad, expected)


def test_replicas_in_threads_of_their_own_are_refused():
    """``nn.DataParallel`` calls what ``replicate`` makes of a module."""
    attention, x = mha(), rand(2, 5, 12)
    for block in (trace, kv_cache, lambda model: edit(model, "z", torch.abs)):
        with block(attention):
            replica = attention._replicate_for_data_parallel()
            replica.project = attention.project._replicate_for_data_parallel()
            for name in ("split", "attend", "concat", "W_O"):
                setattr(replica, name, getattr(attention, name)._replicate_for_data_parallel())
            words = r"nn\.DataParallel runs replicas of .* call its \.module in the block"
            with pytest.raises(RuntimeError, match=words):
                in_threads(1, lambda i, replica=replica: replica(x))
