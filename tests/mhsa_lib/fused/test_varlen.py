"""The kernel for sequences of different lengths is asked only if it takes what we pass."""

import inspect
import sys
from types import ModuleType
from unittest.mock import create_autospec

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from mhsa_lib import masks
from mhsa_lib.fused import varlen
from mhsa_lib.fused.call import Call
from mhsa_lib.masks.structure import Band

MODULE = "torch.nn.attention.varlen"
if varlen.find_spec(MODULE) is None:
    pytest.skip(f"torch {torch.__version__} has no {MODULE}", allow_module_level=True)

from torch.nn.attention.varlen import varlen_attn  # noqa: E402 (not in every torch)


@pytest.fixture(autouse=True)
def asked_anew():
    varlen.torch_kernel.cache_clear()
    yield
    varlen.torch_kernel.cache_clear()


def on_a_gpu(**options):
    with FakeTensorMode():  # decisions on a GPU need none
        return torch.empty(4, 12, 64, device="cuda", **{"dtype": torch.bfloat16} | options)


def call(q, k, band, scale=1.0, lengths=(5, 7), **options):
    mask = masks.Predicate(band.allows, "band", masks.Structure(band, exact=True))
    return Call.of(q, k, k, mask, scale=scale, lengths=lengths, **options)


def against(q, band, **options):
    return varlen.VARLEN.unsupported_reason(call(q, q, band, **options))


def standing_in(monkeypatch, function):
    module = ModuleType(MODULE)
    module.varlen_attn = function
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setattr(varlen, "find_spec", lambda name: name == MODULE)


def test_it_serves_half_precision_on_a_gpu_without_dropout():
    on_a_cpu = torch.empty(4, 12, 64, dtype=torch.bfloat16)
    assert against(on_a_gpu(), Band(ahead=0, behind=3)) is None
    assert (
        against(on_a_gpu(), Band(ahead=1))
        == "queries attend to some future keys, but not to all"
    )
    assert against(on_a_gpu(), Band(), dropout=0.1) == "weights are dropped"
    assert against(on_a_gpu(dtype=torch.float32), Band()) == "numbers of more than 16 bits"
    assert against(on_a_cpu, Band()) == "not on CUDA"
    assert against(on_a_gpu(), Band(), lengths=None) == "no sequences are concatenated"


def test_a_torch_whose_kernel_takes_fewer_arguments_is_not_asked(monkeypatch):
    def first(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False):
        raise AssertionError("must not be called")  # pragma: no cover

    standing_in(monkeypatch, first)
    assert varlen.torch_kernel() is None
    assert against(on_a_gpu(), Band()) == "this torch has no kernel for it"


def test_a_torch_without_it_is_not_asked(monkeypatch):
    monkeypatch.setattr(varlen, "find_spec", lambda name: None)
    assert against(on_a_gpu(), Band()) == "this torch has no kernel for it"


def test_the_installed_torch_takes_every_argument_that_is_passed(monkeypatch):
    parameters = inspect.signature(varlen_attn).parameters
    takes_all = set(parameters) >= varlen.NEEDED
    assert takes_all == (varlen.torch_kernel() is not None)
    if not takes_all:
        pytest.skip(f"torch {torch.__version__} has it with fewer arguments")
    calls = create_autospec(varlen_attn, side_effect=lambda **given: given["query"])
    standing_in(monkeypatch, calls)
    varlen.torch_kernel.cache_clear()
    q, k = torch.randn(4, 5, 16), torch.randn(2, 5, 16)
    z = varlen.attend_by_varlen(call(q, k, Band(ahead=0, behind=7), 0.25, (2, 3)))
    assert torch.equal(z, q)
    (given,) = (call.kwargs for call in calls.mock_calls)
    assert set(given) == varlen.NEEDED
    assert given["cu_seq_q"].tolist() == [0, 2, 5]
    assert given["window_size"] == (7, 0)
    assert (given["max_q"], given["max_k"], given["scale"]) == (3, 3, 0.25)
    assert given["enable_gqa"] is True
    assert given["key"].shape == (5, 2, 16)
