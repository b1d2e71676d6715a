"""A with block acts on compiled code, which stays compiled, or is refused."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import edit, kv_cache, masks, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.attached import hooks


class Parent(nn.Module):
    """A larger model, to be compiled as a whole."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.attention(x, mask=masks.causal)


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
def test_edit_trace_and_cache_act_on_compiled_code_and_it_stays_compiled(compiled):
    """One test for the three, because compiling takes longer than all of them."""
    attention, call, counter = compiled
    x, n_compiled = rand(2, 5, 12), counter.frame_count
    before = call(x)
    with edit(attention, "z", torch.zeros_like):
        assert torch.equal(call(x), x)
    assert_close(call(x), before)
    with trace(attention) as wires:
        y = call(x)
    assert_close(y, x + wires["y"])
    assert len(wires) == 11
    with kv_cache(attention) as cache:
        found = [call(part) for part in x.split([3, 1, 1], dim=1)]
    assert cache.n_tokens == 5
    assert_close(torch.cat(found, dim=1), before)
    assert_close(call(x), before)
    assert counter.frame_count == n_compiled > 0


@pytest.mark.nohook
def test_the_wrapper_that_torch_gives_may_be_passed_itself():
    torch.compiler.reset()
    attention, x = mha(), rand(2, 5, 12)
    wrapper = torch.compile(attention, backend="eager")
    wrapper(x)
    with trace(wrapper) as wires, edit(wrapper, "z", torch.zeros_like), kv_cache(wrapper):
        assert not wrapper(x, mask=masks.causal).any()
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

    words = "trace, edit and kv_cache cannot be compiled; put the with block around"
    with pytest.raises(Exception, match=words):
        torch.compile(cut, backend="eager")(x)
    torch.compiler.reset()
    assert hooks(attention) == 0


FIRST = """
import sys, warnings, torch
warnings.simplefilter("ignore")
from mhsa_lib import MultiHeadAttention, masks, kv_cache, trace
m, x = MultiHeadAttention(12, 3).double(), torch.randn(2, 5, 12).double()
with trace(m) as wires, kv_cache(m) as cache:
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
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    words = r"attention was compiled, and before torch 2\.6 .*or update torch"
    for block in (trace, kv_cache, lambda model: edit(model, "z", torch.abs)):
        with pytest.raises(ValueError, match=words), block(model):
            pass
