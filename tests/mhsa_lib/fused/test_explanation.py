"""What is explained is what runs: the rows of the table are watched during a call."""

import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops
from mhsa_lib.fused import explain, flex, kernels

SIZES = [(1, 1), (1, 9), (5, 5), (3, 9), (9, 3), (16, 16), (70, 70), (300, 300), (0, 3), (3, 0)]
TYPES = [torch.float32, torch.bfloat16, torch.float64]


@pytest.fixture
def ran(monkeypatch):
    """Names of the rows that ran, the outermost first."""
    names = []

    def watched(row):
        def attend(call):
            names.append(row.name)
            return row.attend(call)

        return row._replace(attend=attend)

    monkeypatch.setattr(kernels, "TABLE", tuple(watched(row) for row in kernels.TABLE))
    return names


def rules(n_query, n_key):
    lengths = [max(n_key - 3, 0), n_key // 2]
    return [
        None,
        masks.causal,
        masks.sliding_window(4),
        masks.key_padding(lengths),
        masks.causal & masks.key_padding(lengths),
        masks.prefix(2),
        masks.custom(lambda query, key: (query + key) % 2 == 0),
        masks.causal.dense(n_query, n_key),
        torch.ones(2, 1, n_query, n_key, dtype=torch.bool),
    ]


def heads(n_query, n_key, dtype=torch.float32, n_kv_heads=2):
    sizes = (2, n_query), (n_kv_heads, n_key), (n_kv_heads, n_key)
    return [torch.randn(2, *size, 8).to(dtype) for size in sizes]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_kernel_that_is_explained_runs(dtype, trained, dropout, ran):
    for sizes, n_kv_heads in itertools.product(SIZES, [1, 2]):
        q, k, v = heads(*sizes, dtype, n_kv_heads)
        for mask in rules(*sizes):
            with torch.set_grad_enabled(trained):
                q.requires_grad_(trained)
                found = explain(q, k, v, mask, scale=0.5, dropout=dropout)
                ran.clear()
                kernels.attend(q, k, v, mask, scale=0.5, dropout=dropout)
            assert ran[0] == found.kernel, found
            assert list(found.refused) == list(names()[: names().index(found.kernel)])
            assert all(found.refused.values())


def names():
    return [row.name for row in kernels.TABLE]


def vmapped(f, q):
    return torch.func.vmap(f)(q)


def dual(f, q):
    with forward_ad.dual_level():
        return f(forward_ad.make_dual(q, torch.ones_like(q)))


def jit_traced(f, q):
    return torch.jit.trace(f, (q,), check_trace=False)(q)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated")
@pytest.mark.parametrize("mask", [None, masks.causal, masks.sliding_window(3)], ids=str)
@pytest.mark.parametrize(
    ("way", "kernel"),
    [(vmapped, "definition"), (dual, "definition"), (jit_traced, "recorded")],
)
@pytest.mark.nohook
def test_what_is_recorded_or_transformed_is_explained_as_it_is(way, kernel, mask, ran):
    found = []

    def f(q):
        found.append(explain(q, q, q, mask, scale=0.5).kernel)
        return kernels.attend(q, q, q, mask, scale=0.5)

    with torch.no_grad():
        way(f, torch.randn(2, 3, 7, 4))
    assert set(found) == {kernel} == set(ran)


def test_a_padded_batch_asks_the_table_again_for_each_sequence(ran):
    q, k, v = heads(300, 300, torch.bfloat16)
    with torch.no_grad():
        kernels.attend(q, k, v, masks.padding([300, 9]), scale=0.5)
        assert ran == ["each sequence", "SDPA", "SDPA"]
        ran.clear()
        fused = FusedMultiHeadAttention(16, 2).to(torch.bfloat16)
        x = torch.randn(2, 291, 16).to(torch.bfloat16)
        fused(x, mask=masks.causal & masks.padding([291, 9]))
        assert ran == ["SDPA", "SDPA"]


def on_a_gpu(*shape, **options):
    with FakeTensorMode():  # decisions on a GPU need none
        return torch.empty(*shape, device="cuda", **options)


def test_every_row_is_somebodys(monkeypatch):
    """A row that no call reaches is none."""
    monkeypatch.setattr(flex, "TAKES_ANY_SIZE", True)
    seen = {"recorded", "definition"}  # by the test above
    for sizes in SIZES:
        for dtype, mask in itertools.product(TYPES, rules(*sizes)):
            seen.add(explain(*heads(*sizes, dtype), mask).kernel)
    q = torch.empty(1, 8, 64, 64, dtype=torch.bfloat16, requires_grad=True)
    seen.add(explain(q, q, q).kernel)
    q = on_a_gpu(2, 2, 200, 64)
    seen.add(explain(q, q, q, masks.prefix(2)).kernel)
    assert seen == set(names())


def test_nothing_is_computed():
    for sizes in SIZES:
        for mask in rules(*sizes):
            q, k, v = heads(*sizes)
            ops = trace_ops(lambda q=q, k=k, v=v, mask=mask: explain(q, k, v, mask))
            assert {op.result for op in ops} <= {"view"}


def test_it_is_printed_as_the_table():
    q = torch.empty(1, 8, 512, 64, dtype=torch.bfloat16)
    lines = repr(explain(q, q, q, masks.causal)).splitlines()
    assert lines[0] == (
        "q (1, 8, 512, 64), k (1, 8, 512, 64), bfloat16 on cpu, mask causal, dropout 0"
    )
    assert [line.split("  ")[0] for line in lines[1:]] == names()
    answers = [line.partition("  ")[2].strip() for line in lines[1:]]
    at = names().index("SDPA")
    assert answers[0] == "nothing is recorded"
    assert answers[at] == "RUNS"
    assert set(answers[at + 1 :]) == {"not asked"}


@pytest.mark.parametrize("learning", "qkv")
@pytest.mark.parametrize(("n_query", "n_key"), [(16, 128), (15, 16), (16, 129), (512, 512)])
def test_few_tokens_that_learn_in_bfloat16_have_their_weights_written(n_query, n_key, learning):
    parts = dict(zip("qkv", heads(n_query, n_key, torch.bfloat16), strict=True))
    parts[learning].requires_grad_()
    found = explain(**parts)
    few = n_query == 16 and n_key == 128
    assert found.kernel == ("explicit weights" if few else "SDPA")
    with torch.no_grad():
        found = explain(**parts)
    words = "not 16 to 128 tokens, with gradients"
    assert (found.kernel, found.refused["explicit weights"]) == ("SDPA", words)


THRESHOLDS = [
    (kernels, "MOST_TRAINED", 100, "not 16 to 100 tokens, with gradients"),
    (flex, "FEWEST", 3000, "fewer than 3000 queries, or of fewer than 16 dimensions"),
]


@pytest.mark.parametrize(("module", "name", "value", "words"), THRESHOLDS)
def test_a_message_prints_the_threshold_that_is_in_force(
    module, name, value, words, monkeypatch
):
    monkeypatch.setattr(module, name, value)
    half = {"dtype": torch.bfloat16}
    q = torch.empty(1, 8, 512, 64)
    calls = [
        (q[..., :1, :], q, None),
        (q.to(torch.bfloat16), q.to(torch.bfloat16), masks.causal),
        (q.to(torch.bfloat16).requires_grad_(), q.to(torch.bfloat16), masks.causal),
        (on_a_gpu(1, 8, 512, 64, **half), on_a_gpu(1, 8, 512, 64, **half), masks.prefix(2)),
    ]
    reasons = set()
    for each, k, mask in calls:
        reasons |= set(explain(each, k, k, mask).refused.values())
    assert words in reasons
