"""FlexAttention under our predicates: right here, fast on a GPU."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import flex, masks, wall
from tests.fused_paths import by
from tests.test_kernels import rules

# torch traces the rule, and cannot trace through the shape hook.
pytestmark = [
    pytest.mark.nohook,
    pytest.mark.filterwarnings("ignore:flex_attention called without"),
]


def in_flex(q, k, v, mask, scale):
    everything = masks.custom(lambda query, key: (query >= 0) & (key >= 0))
    q, k, v = (t.detach() for t in (q, k, v))  # FlexAttention has no backward on a CPU
    return flex.attend(q, k, v, everything if mask is None else mask, scale)


def test_it_stands_in_the_wall():
    results = wall.build(
        dtypes=[torch.float32], names=["flex"], extra={"flex": lambda case: by(in_flex, case)}
    )
    assert [result for result in results if not result.passed] == []
    assert sum(result.delta is not None for result in results) >= 30


@pytest.mark.parametrize("sizes", [(130, 130), (3, 200), (140, 20)], ids=str)
@pytest.mark.parametrize("name", rules(5, 5))
def test_it_gives_what_the_boolean_tensor_gives(name, sizes):
    known = rules(*sizes)
    if known.get(name) is None:
        pytest.skip(f"{name} has no mask for {sizes[0]} queries and {sizes[1]} keys")
    q, k, v = (
        torch.randn(2, h, n, 16) for h, n in ((4, sizes[0]), (2, sizes[1]), (2, sizes[1]))
    )
    z = flex.attend(q, k, v, known[name], 0.25)
    dense = masks.resolve(known[name], (2, 4, *sizes), q.device)
    blind = ~dense.any(dim=-1, keepdim=True)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, dense | blind, scale=0.25, enable_gqa=True
    ).masked_fill(blind, 0.0)
    assert_close(z, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: not run here")
def test_on_a_gpu_it_serves_every_predicate():
    q = torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16)
    assert flex.serves(q, masks.prefix(2), 0.0)
    z = flex.attend(q, q, q, masks.prefix(2), 0.125)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q, q, q, masks.prefix(2).dense(256, 256, device="cuda"), scale=0.125
    )
    assert_close(z, wanted, atol=2e-2, rtol=2e-2)
