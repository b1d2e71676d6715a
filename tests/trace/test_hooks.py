"""A with block acts in its own thread, on compiled code too, and leaves nothing behind."""

import copy
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_lib import MultiHeadAttention, edit, masks, remember, trace
from mhsa_lib.trace.hooks import Hooks
from tests.helpers.drawn import mha, rand


class Parent(nn.Module):
    """A larger model, to be compiled as a whole."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.attention(x, mask=masks.causal)


def hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


# --- threads ---------------------------------------------------------------------------------


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
            with remember(attention) as cache:
                parts = [attention(p, mask=masks.causal) for p in x.split([3, 1, 2], dim=1)]
            assert cache.n_tokens == 6
            assert_close(torch.cat(parts, dim=1), attention(x, mask=masks.causal))

    in_threads(4, work)
    assert hooks(attention) == 0


def test_a_thread_without_a_block_gets_the_plain_function():
    attention, x = mha(), rand(2, 5, 12)
    plain, found = attention(x), []
    with trace(attention) as wires, edit(attention, "z", torch.zeros_like), remember(attention):
        thread = threading.Thread(target=lambda: found.append(attention(x)))
        thread.start()
        thread.join()
        assert list(wires) == []
        assert not attention(x).any()
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
    for block in (trace, remember, lambda model: edit(model, "z", torch.abs)):
        with block(attention):
            replica = attention._replicate_for_data_parallel()
            replica.project = attention.project._replicate_for_data_parallel()
            for name in ("split", "attend", "concat", "W_O"):
                setattr(replica, name, getattr(attention, name)._replicate_for_data_parallel())
            words = r"nn\.DataParallel runs replicas of .* call its \.module in the block"
            with pytest.raises(RuntimeError, match=words):
                in_threads(1, lambda i, replica=replica: replica(x))


# --- nothing is left -------------------------------------------------------------------------


def test_a_copy_made_inside_a_block_is_a_plain_module():
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x)
    with edit(attention, "z", torch.zeros_like), trace(attention) as wires, remember(attention):
        twin = copy.deepcopy(attention)
        assert torch.equal(twin(x), plain)
        assert list(wires) == []
    assert torch.equal(twin(x), plain)
    assert list(wires) == []


BLOCKS = {
    "trace": trace,
    "edit": lambda model: edit(model, "z", torch.abs),
    "remember": remember,
}
each = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)


@each
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_a_block_that_breaks_leaves_no_hook(block, error):
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x)

    def breaks(value):
        raise error

    with pytest.raises(error), block(attention):
        raise error
    assert hooks(attention) == 0
    with pytest.raises(error), block(attention), edit(attention, "weights", breaks):
        attention(x)
    assert hooks(attention) == 0
    assert torch.equal(attention(x), plain)


@each
def test_a_generator_that_is_given_up_leaves_no_hook(block):
    attention = mha()

    def passes():
        with block(attention):
            while True:
                yield attention(rand(2, 5, 12))

    waiting = passes()
    next(waiting)
    assert hooks(attention) > 0
    waiting.close()
    assert hooks(attention) == 0


@each
def test_blocks_in_a_block_and_one_after_another(block):
    attention, x = mha(), rand(2, 5, 12)
    plain = attention(x)
    with block(attention):
        with trace(attention) as inner, edit(attention, "z", torch.zeros_like):
            attention(x)
        assert len(inner) == 11
    assert hooks(attention) == 0
    for _ in range(2):
        with block(attention):
            attention(x)
    assert hooks(attention) == 0
    assert torch.equal(attention(x), plain)


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


def test_the_default_is_an_attention_that_knows_nothing_of_hooks():
    assert hooks(MultiHeadAttention(12, 3)) == 0


# --- what was compiled -----------------------------------------------------------------------


def in_place(parent, counter):
    parent.attention.compile(backend=counter)
    return parent


def inside(parent, counter):
    compiled = Parent(parent.attention)
    compiled.attention = torch.compile(parent.attention, backend=counter)
    return compiled


COMPILED = {
    "the attention, in place": in_place,
    "the attention, wrapped": inside,
    "the model around it": lambda parent, counter: torch.compile(parent, backend=counter),
    "a function that calls it": lambda parent, counter: torch.compile(
        lambda x: parent(x), backend=counter
    ),
}


@pytest.fixture(params=COMPILED)
def compiled(request):
    """An attention, what was compiled around it and has run, and the count of compilations."""
    from torch._dynamo.testing import CompileCounter

    torch.compiler.reset()
    counter = CompileCounter()
    attention = mha()
    call = COMPILED[request.param](Parent(attention), counter)
    call(rand(2, 5, 12))
    yield attention, call, counter
    torch.compiler.reset()


@pytest.mark.nohook
def test_an_edit_acts_on_compiled_code_and_it_stays_compiled(compiled):
    attention, call, counter = compiled
    x, n_compiled = rand(2, 5, 12), counter.frame_count
    before = call(x)
    with edit(attention, "z", torch.zeros_like):
        assert torch.equal(call(x), x)
    assert_close(call(x), before)
    assert counter.frame_count == n_compiled > 0


@pytest.mark.nohook
def test_a_trace_of_compiled_code_sees_every_wire(compiled):
    attention, call, counter = compiled
    x, n_compiled = rand(2, 5, 12), counter.frame_count
    with trace(attention) as wires:
        y = call(x)
    assert_close(y, x + wires["y"])
    assert len(wires) == 11
    assert counter.frame_count == n_compiled


@pytest.mark.nohook
def test_compiled_code_remembers(compiled):
    attention, call, counter = compiled
    x, n_compiled = rand(2, 5, 12), counter.frame_count
    whole = call(x)
    with remember(attention) as cache:
        found = [call(part) for part in x.split([3, 1, 1], dim=1)]
    assert cache.n_tokens == 5
    assert_close(torch.cat(found, dim=1), whole)
    assert_close(call(x), whole)
    assert counter.frame_count == n_compiled


@pytest.mark.nohook
def test_the_wrapper_that_torch_gives_may_be_passed_itself():
    torch.compiler.reset()
    attention, x = mha(), rand(2, 5, 12)
    wrapper = torch.compile(attention, backend="eager")
    wrapper(x)
    with trace(wrapper) as wires, edit(wrapper, "z", torch.zeros_like), remember(wrapper):
        assert not wrapper(x).any()
    assert (wires.name, len(wires)) == ("MultiHeadAttention", 11)


@pytest.mark.nohook
def test_nested_blocks_give_the_compiler_back_with_the_last():
    from torch._dynamo import eval_frame

    attention, x = mha(), rand(2, 5, 12)
    before = eval_frame._stance
    outer, inner = edit(attention, "z", torch.zeros_like), trace(attention)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)  # blocks of two threads end in any order
    assert eval_frame._stance.stance == "force_eager"
    inner.__exit__(None, None, None)
    assert eval_frame._stance is before
    with pytest.raises(ZeroDivisionError), trace(attention):
        _ = 1 / 0
    assert eval_frame._stance is before
    assert attention(x).any()


@pytest.mark.nohook
def test_a_block_inside_a_compiled_function_is_refused():
    torch.compiler.reset()
    attention, x = mha(), rand(2, 5, 12)

    def cut(x):
        with edit(attention, "z", torch.zeros_like):
            return attention(x)

    words = "trace, edit and remember cannot be compiled; put the with block around"
    with pytest.raises(Exception, match=words):
        torch.compile(cut, backend="eager")(x)
    torch.compiler.reset()
    assert hooks(attention) == 0


FIRST = """
import sys, warnings, torch
warnings.simplefilter("ignore")
from mhsa_lib import MultiHeadAttention, masks, remember, trace
m, x = MultiHeadAttention(12, 3).double(), torch.randn(2, 5, 12).double()
with trace(m) as wires, remember(m) as cache:
    assert "torch._dynamo" not in sys.modules, "a block imports the compiler: some seconds"
    c = torch.compile(m, backend="eager")
    y = [c(part, mask=masks.causal) for part in x.split([3, 1, 1], dim=1)]
whole = m(x, mask=masks.causal)
assert cache.n_tokens == wires.sizes["key"] == 5
assert torch.allclose(torch.cat(y, dim=1), whole)
assert torch.allclose(c(x, mask=masks.causal), whole)
"""


@pytest.mark.nohook
def test_the_first_compilation_of_a_process_may_be_inside_a_block():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.bothways
@pytest.mark.parametrize("wrapped", [True, False])
def test_where_torch_cannot_be_told_to_a_compiled_model_is_refused(monkeypatch, wrapped):
    model = Parent(mha())
    if wrapped:
        model.attention._orig_mod = nn.Identity()  # what torch.compile gives has one
    else:
        model.attention._compiled_call_impl = print
    monkeypatch.delattr(torch.compiler, "set_stance")
    words = r"attention was compiled, and before torch 2\.6 .*or update torch"
    for block in (trace, remember, lambda model: edit(model, "z", torch.abs)):
        with pytest.raises(ValueError, match=words), block(model):
            pass
