"""Whose product it is: a block says so, or the environment, or a measurement."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from mhsa_lib import trace_ops
from mhsa_lib.fused import blas, linear, onednn


@pytest.fixture
def environment(monkeypatch):
    """A process that has read nothing yet: what MHSA_LINEAR says, and how often is measured."""
    real, measured = blas.is_faster, []
    monkeypatch.setattr(blas, "is_faster", lambda: measured.append(1) or real())

    def set_to(value):
        blas._by_environment.cache_clear()
        monkeypatch.delenv("MHSA_LINEAR", raising=False)
        if value is not None:
            monkeypatch.setenv("MHSA_LINEAR", value)
        return measured

    yield set_to
    monkeypatch.undo()
    blas._by_environment.cache_clear()


@pytest.mark.parametrize(("value", "chosen"), [("torch", False), ("onednn", True)])
def test_the_environment_decides_and_nothing_is_measured(value, chosen, environment):
    measured = environment(value)
    assert blas.is_chosen() is chosen
    linear.Linear(4, 3).pack()
    assert not measured


@pytest.mark.parametrize("value", [None, "", "auto"])
def test_without_a_choice_it_is_measured(value, environment):
    measured = environment(value)
    assert blas.is_chosen() is blas.is_faster()
    assert measured


def test_a_block_decides_before_the_environment(environment):
    environment("torch")
    with blas.linear_by("onednn"):
        assert blas.is_chosen()
        with blas.linear_by("torch"):
            assert not blas.is_chosen()
        assert blas.is_chosen()
    assert not blas.is_chosen()


def test_a_block_decides_for_its_own_thread(environment):
    environment("torch")
    with blas.linear_by("onednn"), ThreadPoolExecutor(1) as thread:
        assert not thread.submit(blas.is_chosen).result()


@pytest.mark.parametrize("value", ["mkl", "Torch"])
def test_another_word_is_refused(value, environment):
    words = f"='{value}' is unknown; choose auto, torch, onednn."
    with pytest.raises(ValueError, match="linear_by" + words), blas.linear_by(value):
        pass
    environment(value)
    with pytest.raises(ValueError, match="MHSA_LINEAR" + words):
        linear.Linear(4, 3)


def test_onednn_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr(onednn, "is_here", lambda: False)
    words = "linear_by='onednn', but this PyTorch cannot call oneDNN; choose auto or torch"
    with pytest.raises(ValueError, match=words), blas.linear_by("onednn"):
        pass


@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 4, 16, 64, 200])
def test_by_torch_every_bit_is_that_of_f_linear(rows):
    W, x = linear.Linear(8, 6), torch.randn(rows, 8)
    W.pack()
    with blas.linear_by("torch"):
        assert torch.equal(W(x), F.linear(x, W.weight, W.bias))
        ops = trace_ops(W, x)
    assert not [op.name for op in ops if "pointwise" in op.name]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_measurement_knows_no_defaults_and_is_not_seen(dtype):
    torch.set_default_dtype(dtype)
    try:
        with (
            torch.device("meta"),
            torch.autocast("cpu", torch.bfloat16),
            torch.inference_mode(),
            FakeTensorMode(),
        ):
            assert isinstance(blas.is_faster.__wrapped__(), bool)
        assert not trace_ops(blas.is_faster.__wrapped__)
        assert torch.func.vmap(lambda x: x + blas.is_faster.__wrapped__())(torch.ones(2)).sum()
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_measurement_that_fails_is_an_error_and_no_answer(monkeypatch):
    blas.is_faster.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(blas, "_measured", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            blas.is_faster()
    assert isinstance(blas.is_faster(), bool)
