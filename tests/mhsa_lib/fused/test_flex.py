"""FlexAttention under our predicates: right here, fast on a GPU."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention.flex_attention import flex_attention
from torch.testing import assert_close

from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_lib import masks
from mhsa_lib.fused import explain, flex
from mhsa_lib.fused.call import Call
from mhsa_lib.llama_stages import CappedAttend, SinkAttend
from tests.helpers.fused_paths import by
from tests.mhsa_lib.fused.test_kernels import rules

# torch traces the rule, and cannot trace through the shape hook.
pytestmark = [
    pytest.mark.nohook,
    pytest.mark.filterwarnings("ignore:flex_attention called without"),
]


def attend(q, k, v, mask, scale):
    return flex.attend_by_flex(Call.of(q, k, v, mask, scale=scale))


def in_flex(q, k, v, mask, scale):
    everything = masks.custom(lambda query, key: (query >= 0) & (key >= 0))
    q, k, v = (t.detach() for t in (q, k, v))  # FlexAttention has no backward on a CPU
    mask = everything if mask is None else mask
    if flex._differs_by_sequence(mask):
        raise NotApplicableError("the mask differs between sequences")
    return attend(q, k, v, mask, scale)


@pytest.mark.slow  # half a minute; what follows compares it with the boolean tensor
def test_it_stands_in_the_wall():
    results = comparison.build(
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
    if flex._differs_by_sequence(known[name]):
        pytest.skip(f"{name} differs between sequences, so FlexAttention is not asked")
    q, k, v = (
        torch.randn(2, h, n, 16) for h, n in ((4, sizes[0]), (2, sizes[1]), (2, sizes[1]))
    )
    z = attend(q, k, v, known[name], 0.25)
    dense = masks.resolve(known[name], (2, 4, *sizes), q.device)
    blind = ~dense.any(dim=-1, keepdim=True)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, dense | blind, scale=0.25, enable_gqa=True
    ).masked_fill(blind, 0.0)
    assert_close(z, wanted, atol=1e-5, rtol=1e-5)


def under(mask, n_query=128, n_key=128):
    q, k = (torch.ones(1, 1, n, 16) for n in (n_query, n_key))
    return attend(q, k, k.cumsum(dim=-2), mask, 0.25)


def test_a_mask_of_several_sequences_is_left_to_others(monkeypatch):
    monkeypatch.setattr(flex, "TAKES_ANY_SIZE", True)
    for mask in (masks.key_padding([100, 90]), masks.causal & masks.padding([100, 90])):
        found = explain(*(on_a_gpu(128),) * 3, mask)
        assert found.kernel != "FlexAttention"
        assert "differs between sequences" in repr(found)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(masks.prefix(3), marks=pytest.mark.slow),
        masks.documents(torch.arange(256) // 60),  # reads a tensor, which is harder to compile
    ],
    ids=str,
)
def test_what_flex_is_asked_compiles(mask):
    blocks = flex._blocks(mask, 256, 256, torch.device("cpu"))
    q, k, v = torch.randn(3, 2, 2, 256, 32)  # torch 2.11 wants three buffers
    z = torch.compile(flex_attention)(q, k, v, block_mask=blocks)
    torch.compiler.reset()
    allowed = mask.dense(256, 256)
    assert_close(z, torch.nn.functional.scaled_dot_product_attention(q, k, v, allowed))


def test_what_was_made_for_inference_serves_training():
    flex._kept.cache_clear()
    with torch.inference_mode():
        under(masks.causal)
    blocks = flex._kept(masks.causal, 128, 128, torch.device("cpu"))
    assert flex._kept.cache_info().hits == 1
    assert not blocks.kv_indices.is_inference()


def test_equal_rules_share_one_block_mask():
    flex._kept.cache_clear()
    for _ in range(3):
        under(masks.causal & masks.prefix(100))
    assert flex._kept.cache_info()[:2] == (2, 1)
    under(masks.causal & masks.prefix(101))
    assert flex._kept.cache_info()[:2] == (2, 2)


def test_a_custom_rule_is_asked_again_when_the_tensor_that_it_reads_has_changed(monkeypatch):
    blocks = []
    monkeypatch.setattr(
        flex, "_kernel", lambda _: lambda q, k, v, **given: blocks.append(given["block_mask"])
    )
    allowed = torch.ones(128, 256, dtype=torch.bool)
    mask = masks.custom(lambda query, key: allowed[query - 128, key])
    for combined in (mask, mask & masks.causal, ~~mask):
        for n_blocks in (2, 1, 0):
            allowed.fill_(False)[:, : 128 * n_blocks] = True
            under(combined, 128, 256)
            held = blocks[-1].kv_num_blocks + blocks[-1].full_kv_num_blocks
            assert held.item() == n_blocks


def on_a_gpu(n_query, **options):
    with FakeTensorMode():  # decisions on a GPU need none
        return torch.empty(2, 4, n_query, 64, device="cuda", **options)


def kernel(q, mask=None, **options):
    return explain(q, q, q, masks.prefix(2) if mask is None else mask, **options).kernel


def test_few_queries_are_left_to_a_boolean_tensor(monkeypatch):
    monkeypatch.setattr(flex, "TAKES_ANY_SIZE", True)
    k = on_a_gpu(500)
    chosen = [explain(on_a_gpu(n), k, k, masks.prefix(2)).kernel for n in (1, 5, 127, 128, 500)]
    assert chosen == ["SDPA under a tensor"] * 3 + ["FlexAttention"] * 2


def test_a_torch_that_compiles_for_one_size_only_is_not_asked(monkeypatch):
    for takes_any in (True, False):
        monkeypatch.setattr(flex, "TAKES_ANY_SIZE", takes_any)
        assert (kernel(on_a_gpu(200)) == "FlexAttention") is takes_any
    monkeypatch.setattr(flex, "TAKES_ANY_SIZE", True)
    assert kernel(on_a_gpu(200), dropout=0.1) == "SDPA under a tensor"
    by_tensor = masks.prefix(2).dense(200, 200)
    assert kernel(on_a_gpu(200), mask=by_tensor) == "SDPA under a tensor"


@pytest.fixture
def counter(monkeypatch):
    """Counts what is compiled of the kernel of a GPU, which runs here."""
    torch.compiler.reset()
    counter, compiler = CompileCounter(), torch.compile
    monkeypatch.setattr(
        torch, "compile", lambda f, **options: compiler(f, backend=counter, **options)
    )
    flex._kernel.cache_clear()
    compiled = flex._kernel("cuda")
    flex._kernel.cache_clear()
    monkeypatch.setattr(flex, "_kernel", lambda device: compiled)
    return counter


def test_a_new_number_of_keys_compiles_nothing_from_the_second_on(counter):
    compilations = []
    with torch.no_grad():
        for n_key in (200, 201, 260, 300, 515, 516, 700):
            under(masks.prefix(2), 130, n_key)
            compilations.append(counter.frame_count)
    # One of fixed sizes, one with a variable, and one where a number stops being that of q.
    assert compilations[0] == 1
    assert compilations[2:] == [compilations[2]] * 5
    assert compilations[2] <= 3


def test_the_twentieth_kind_of_call_is_compiled_like_the_first(counter):
    """Beyond torch's limit of 8 it runs uncompiled, writes all scores, and only warns."""
    compilations = []
    for width in range(1, 6):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            mask = masks.custom(lambda query, key, width=width: key <= query + width)
            q, k = (torch.ones(1, 1, 128, 16 * width, dtype=dtype) for _ in range(2))
            with torch.no_grad():
                attend(q, k, k.cumsum(dim=-2), mask, 0.25)
            compilations.append(counter.frame_count)
    assert compilations[-1] > 8
    assert torch._dynamo.config.recompile_limit == 8  # for others as before


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: not run here")
def test_on_a_gpu_it_serves_every_predicate():
    q = torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16)
    assert kernel(q) == "FlexAttention"
    z = attend(q, q, q, masks.prefix(2), 0.125)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q, q, q, masks.prefix(2).dense(256, 256, device="cuda"), scale=0.125
    )
    assert_close(z, wanted, atol=2e-2, rtol=2e-2)


STEPS = {
    "capped": CappedAttend(0.25, cap=1.5),
    "no cap": CappedAttend(0.25, cap=None),
    "with sinks": SinkAttend(0.25, n_heads=4),
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("mask", [masks.causal, masks.sliding_window(9), masks.prefix(3)])
def test_caps_and_sinks_are_those_of_the_stages(kind, mask):
    q, k, v = (torch.randn(2, h, n, 16) * 3 for h, n in ((4, 130), (2, 140), (2, 140)))
    steps = STEPS[kind].requires_grad_(False)
    for parameter in steps.parameters():
        parameter.copy_(torch.tensor([2.0, -1.0, 0.5, 3.0]))
    z = flex.attend_by_flex(Call.of(q, k, v, mask, scale=0.25), steps)
    assert_close(z, steps(q, k, v, mask), atol=1e-5, rtol=1e-5)


def test_layers_with_one_cap_share_a_compiled_kernel():
    torch.compiler.reset()  # after eight programs of other tests nothing would be compiled
    counter = CompileCounter()
    compiled = torch.compile(flex_attention, backend=counter)
    blocks = flex._blocks(masks.causal, 128, 128, torch.device("cpu"))
    for cap in (1.5, 1.5, 2.0):
        q, k, v = torch.randn(3, 1, 2, 128, 16)
        compiled(q, k, v, block_mask=blocks, score_mod=flex._capped(cap))
    assert counter.frame_count == 2
    torch.compiler.reset()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cap_compiles():
    blocks = flex._blocks(masks.causal, 128, 128, torch.device("cpu"))
    q, k, v = torch.randn(3, 1, 2, 128, 16)
    score_mod = flex._capped(1.5)
    z = torch.compile(flex_attention)(q, k, v, block_mask=blocks, score_mod=score_mod)
    torch.compiler.reset()
    wanted = CappedAttend(0.25, cap=1.5)(q, k, v, masks.causal)
    assert_close(z, wanted, atol=1e-5, rtol=1e-5)
