"""Whatever a mask says about itself, z is what the boolean tensor gives."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import masks, trace_ops
from mhsa_lib.fused import call, explain, kernels, sdpa

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 4e-2}


def heads(n_heads, n_kv_heads, n_query, n_key, dtype, batch=2, d_head=4):
    sizes = (n_heads, n_query), (n_kv_heads, n_key), (n_kv_heads, n_key)
    return [torch.randn(batch, h, n, d_head).to(dtype).requires_grad_() for h, n in sizes]


def exact(q, k, v, mask, scale):
    """In float64, written out: scores, weights, z; a row that sees nothing is 0."""
    q, k, v = (t.double() for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    scores = scale * q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).nan_to_num(0.0) @ v


def gradients(z, inputs):
    return torch.autograd.grad(z.double().square().sum(), inputs, materialize_grads=True)


def same_gradients(found, wanted, tolerance):
    """Within a tolerance of the largest."""
    for one, other in zip(found, wanted, strict=True):
        assert (one - other).abs().max() <= tolerance * other.abs().max().clamp(min=1.0)


def rules(n_query: int, n_key: int):
    lengths = [max(n_key - 3, 0), n_key // 2]
    known = {
        "none": None,
        "causal": masks.causal,
        "window": masks.sliding_window(3),
        "prefix": masks.prefix(2),
        "key padding": masks.key_padding(lengths),
        "an empty sequence": masks.key_padding([n_key, 0]),
        "causal & key padding": masks.causal & masks.key_padding(lengths),
        "not causal": ~masks.causal,
        "checkerboard": masks.custom(lambda query, key: (query + key) % 2 == 0),
        "checkerboard & window": masks.sliding_window(5)
        & masks.custom(lambda query, key: (query + key) % 2 == 0),
    }
    if n_query == n_key:
        known |= {
            "padding": masks.padding(lengths),
            "window & padding": masks.sliding_window(3) & masks.padding(lengths),
        }
    return known


@pytest.mark.parametrize("sizes", [(5, 5), (1, 9), (3, 9), (9, 3)], ids=str)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("name", rules(5, 5))
def test_few_tokens_under_every_rule(name, n_kv_heads, sizes):
    known = rules(*sizes)
    mask = known.get(name, masks.causal & masks.prefix(1))
    q, k, v = heads(4, n_kv_heads, *sizes, torch.float64)
    dense = None if mask is None else mask.dense(*sizes)
    z = kernels.attend(q, k, v, mask, scale=0.3)
    assert_close(z, exact(q, k, v, dense, 0.3))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_z_is_that_of_the_boolean_tensor(data):
    torch.manual_seed(data.draw(st.integers(0, 999)))
    n_query = data.draw(st.sampled_from([1, 2, 5, 63, 70, 300]))
    n_key = data.draw(st.sampled_from([1, n_query, 7, 64, 290]))
    n_kv_heads = data.draw(st.sampled_from([1, 2]))
    dtype = data.draw(st.sampled_from(list(TOLERANCE)))
    known = rules(n_query, n_key)
    mask = known[data.draw(st.sampled_from(sorted(known)))]
    q, k, v = heads(2, n_kv_heads, n_query, n_key, dtype)
    dense = None if mask is None else mask.dense(n_query, n_key)
    expected = exact(q, k, v, dense, 0.3)
    z = kernels.attend(q, k, v, mask, scale=0.3)
    with torch.no_grad():
        without_gradients = kernels.attend(q, k, v, mask, scale=0.3)
    found = gradients(z, (q, k, v))
    tolerance = TOLERANCE[dtype]
    assert_close(z.double(), expected, atol=tolerance, rtol=tolerance)
    assert_close(without_gradients.double(), expected, atol=tolerance, rtol=tolerance)
    same_gradients(found, gradients(expected, (q, k, v)), 2 * tolerance)


def largest_result(mask, n, grad, dtype):
    """Numbers in the largest tensor that any operation of one pass makes."""
    q, k, v = (torch.zeros(1, 2, n, 4, requires_grad=grad, dtype=dtype) for _ in range(3))
    ops = trace_ops(lambda: kernels.attend(q, k, v, mask, scale=1.0))
    return max(math.prod(op.shape) for op in ops)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    "mask",
    [
        None,
        masks.causal,
        masks.sliding_window(100),
        masks.key_padding([500]),
        masks.causal & masks.padding([500]),
        masks.custom(lambda query, key: (query + key) % 2 == 0),
    ],
    ids=str,
)
def test_no_tensor_has_a_query_and_a_key_axis(mask, dtype, grad, monkeypatch):
    monkeypatch.setattr(call, "ROWS", 32)  # as 256 of 16,384 tokens, in a 64th of the time
    at_512, at_2048 = (largest_result(mask, n, grad, dtype) for n in (512, 2048))
    assert at_2048 <= 4 * at_512
    assert at_2048 < 2048 * 2048 / 16


def test_one_query_of_a_group_reads_its_keys_once():
    q, k, v = heads(8, 2, 1, 50, torch.float32)
    ops = trace_ops(lambda: kernels.attend(q, k, v, None, scale=0.5))
    assert max(math.prod(op.shape) for op in ops) <= v.numel()
    z = kernels.attend(q, k, v, None, scale=0.5)
    assert_close(z, exact(q, k, v, None, 0.5).to(z.dtype))  # float32's tolerance, not float64's


@pytest.mark.parametrize("n_kv_heads", [1, 2, 8])
def test_one_query_and_many_keys_are_plain_products(n_kv_heads, monkeypatch):
    q, k, v = heads(8, n_kv_heads, 1, 50, torch.float64)
    monkeypatch.setattr(sdpa, "MOST_CACHED", 0)
    for mask, seen in ((None, 50), (masks.sliding_window(9), 9)):
        z = kernels.attend(q, k, v, mask, scale=0.3)
        assert_close(z, exact(q, k[..., -seen:, :], v[..., -seen:, :], None, 0.3))


def test_many_keys_are_those_that_fill_a_cache():
    few, many = torch.empty(1, 8, 1024, 64), torch.empty(1, 8, 2048, 64)
    half = torch.empty(8, 8, 512, 64, dtype=torch.bfloat16)
    for k, products in ((few, False), (many, True), (half, True)):
        ops = trace_ops(lambda k=k: kernels.attend(k[..., :1, :], k, k, None, scale=1.0))
        assert ("_softmax" in {op.name for op in ops}) == products


@pytest.mark.parametrize("name", rules(70, 70))
def test_explicit_weights_of_few_tokens(name):
    """In bfloat16 the weights of few tokens are written out in training, for gradients."""
    for n_query, n_key in ((70, 70), (66, 90), (16, 128)):
        mask = rules(n_query, n_key).get(name, masks.causal & masks.prefix(1))
        q, k, v = heads(4, 4, n_query, n_key, torch.bfloat16)
        assert explain(q, k, v, mask, scale=0.3).kernel == "explicit weights"
        with torch.no_grad():
            assert explain(q, k, v, mask, scale=0.3).kernel != "explicit weights"
        dense = None if mask is None else mask.dense(n_query, n_key)
        with torch.inference_mode():  # what it keeps has to serve gradients later
            kernels.attend(*(t.detach() for t in (q, k, v)), mask, scale=0.3)
        z, wanted = kernels.attend(q, k, v, mask, scale=0.3), exact(q, k, v, dense, 0.3)
        assert_close(z.double(), wanted, atol=4e-2, rtol=4e-2)
        same_gradients(gradients(z, (q, k, v)), gradients(wanted, (q, k, v)), 8e-2)


def test_padding_is_cut_away_and_not_only_masked():
    q, k, v = heads(2, 2, 128, 128, torch.float64)
    poisoned = k.detach().clone()
    poisoned[0, :, 10:] = float("nan")
    z = kernels.attend(q, poisoned, v, masks.key_padding([10, 128]), scale=0.5)
    assert z.isfinite().all()


def test_dropout_drops_and_keeps_the_mean():
    torch.manual_seed(0)
    q = k = torch.zeros(1, 1, 4, 4)
    v = torch.ones(1, 1, 4, 4)
    z = torch.stack(
        [kernels.attend(q, k, v, None, scale=1.0, dropout=0.5) for _ in range(2000)]
    )
    assert z.std() > 0.1
    assert abs(z.mean() - 1) < 0.05


def test_long_sequences_need_little_memory():
    """100,000 tokens: a boolean mask alone would take 10 GB."""
    q = torch.randn(1, 1, 100_000, 4)
    with torch.no_grad():
        z = kernels.attend(q, q, q, masks.sliding_window(16), scale=0.5)
    last = F.softmax(0.5 * q[..., -1:, :] @ q[..., -16:, :].mT, dim=-1) @ q[..., -16:, :]
    assert_close(z[..., -1:, :], last, atol=1e-5, rtol=1e-5)


def test_a_mask_that_does_not_fit_is_refused():
    q, k, v = heads(2, 2, 5, 5, torch.float32)
    with pytest.raises(ValueError, match="mask"):
        kernels.attend(q, k, v, masks.padding([1, 2, 3]), scale=1.0)
