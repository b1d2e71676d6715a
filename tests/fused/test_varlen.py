"""The kernel for sequences of different lengths is asked only if it takes what we pass."""

import inspect
import sys
from types import ModuleType
from unittest.mock import create_autospec

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from mhsa_lib.fused import varlen
from mhsa_lib.masks.structure import Band

MODULE = "torch.nn.attention.varlen"
if varlen.find_spec(MODULE) is None:
    pytest.skip(f"torch {torch.__version__} has no {MODULE}", allow_module_level=True)

from torch.nn.attention.varlen import varlen_attn  # noqa: E402 (not in every torch)


@pytest.fixture(autouse=True)
def asked_anew():
    varlen.kernel.cache_clear()
    yield
    varlen.kernel.cache_clear()


def on_a_gpu(**options):
    with FakeTensorMode():  # decisions on a GPU need none
        return torch.empty(4, 12, 64, device="cuda", **{"dtype": torch.bfloat16} | options)


def standing_in(monkeypatch, function):
    module = ModuleType(MODULE)
    module.varlen_attn = function
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setattr(varlen, "find_spec", lambda name: name == MODULE)


def test_it_serves_half_precision_on_a_gpu_without_dropout():
    assert varlen.serves(on_a_gpu(), Band(ahead=0, behind=3), 0.0)
    assert not varlen.serves(on_a_gpu(), Band(ahead=1), 0.0)
    assert not varlen.serves(on_a_gpu(), Band(), 0.1)
    assert not varlen.serves(on_a_gpu(dtype=torch.float32), Band(), 0.0)
    assert not varlen.serves(torch.empty(4, 12, 64, dtype=torch.bfloat16), Band(), 0.0)


def test_a_torch_whose_kernel_takes_fewer_arguments_is_not_asked(monkeypatch):
    def first(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False):
        raise AssertionError("must not be called")  # pragma: no cover

    standing_in(monkeypatch, first)
    assert varlen.kernel() is None
    assert not varlen.serves(on_a_gpu(), Band(), 0.0)


def test_a_torch_without_it_is_not_asked(monkeypatch):
    monkeypatch.setattr(varlen, "find_spec", lambda name: None)
    assert not varlen.serves(on_a_gpu(), Band(), 0.0)


def test_the_installed_torch_takes_every_argument_that_is_passed(monkeypatch):
    parameters = inspect.signature(varlen_attn).parameters
    takes_all = set(parameters) >= varlen.PASSED
    assert takes_all == (varlen.kernel() is not None)
    if not takes_all:
        pytest.skip(f"torch {torch.__version__} has it with fewer arguments")
    calls = create_autospec(varlen_attn, side_effect=lambda **given: given["query"])
    standing_in(monkeypatch, calls)
    varlen.kernel.cache_clear()
    q, k = torch.randn(4, 5, 16), torch.randn(2, 5, 16)
    z = varlen.attend(q, k, k, (2, 3), Band(ahead=0, behind=7), 0.25)
    assert torch.equal(z, q)
    (given,) = (call.kwargs for call in calls.mock_calls)
    assert set(given) == varlen.PASSED
    assert given["cu_seq_q"].tolist() == [0, 2, 5]
    assert given["window_size"] == (7, 0)
    assert (given["max_q"], given["max_k"], given["scale"]) == (3, 3, 0.25)
    assert given["enable_gqa"] is True
    assert given["key"].shape == (5, 2, 16)
