"""What is explained is what runs: the rows of the table are watched during a call."""

import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from mhsa_lib import masks, trace_ops
from mhsa_lib.fused import blocks, conditions, dispatch, explain, flex, linear_by
from mhsa_lib.fused.call import Call

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

    monkeypatch.setattr(dispatch, "TABLE", tuple(watched(row) for row in dispatch.TABLE))
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


@pytest.mark.parametrize("library", ["torch", "onednn"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_kernel_that_is_explained_runs(dtype, trained, dropout, library, ran):
    for sizes, n_kv_heads in itertools.product(SIZES, [1, 2]):
        q, k, v = heads(*sizes, dtype, n_kv_heads)
        for mask in rules(*sizes):
            with linear_by(library), torch.set_grad_enabled(trained):
                q.requires_grad_(trained)
                found = explain(q, k, v, mask, scale=0.5, dropout=dropout)
                ran.clear()
                dispatch.attend(q, k, v, mask, scale=0.5, dropout=dropout)
            assert ran[0] == found.kernel, found
            assert list(found.refused) == list(names()[: names().index(found.kernel)])
            assert all(found.refused.values())


def names():
    return [row.name for row in dispatch.TABLE]


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
    [(vmapped, "definition"), (dual, "definition"), (jit_traced, "any length")],
)
@pytest.mark.nohook
def test_what_is_recorded_or_transformed_is_explained_as_it_is(way, kernel, mask, ran):
    found = []

    def f(q):
        found.append(explain(q, q, q, mask, scale=0.5).kernel)
        return dispatch.attend(q, q, q, mask, scale=0.5)

    with torch.no_grad():
        way(f, torch.randn(2, 3, 7, 4))
    assert set(found) == {kernel} == set(ran)


def test_a_padded_batch_asks_the_table_again_for_each_sequence(ran):
    q, k, v = heads(300, 300)
    with linear_by("onednn"), torch.no_grad():
        dispatch.attend(q, k, v, masks.padding([300, 9]), scale=0.5)
        assert ran == ["each sequence", "tiles", "SDPA"]
        ran.clear()
        q, k, v = (t[0] for t in (q, k, v))
        known = {"scale": 0.5, "lengths": (291, 9)}
        dispatch.attend(q, k, v, masks.causal & masks.padding([291, 9]), **known)
        assert ran == ["sequences end to end", "tiles", "causal SDPA"]


def on_a_gpu(*shape, **options):
    with FakeTensorMode():  # decisions on a GPU need none
        return torch.empty(*shape, device="cuda", **options)


def test_every_row_is_somebodys(monkeypatch):
    """A row that no call reaches is none."""
    monkeypatch.setattr(flex, "TAKES_ANY_SIZE", True)
    monkeypatch.setattr(conditions.varlen, "kernel", lambda: torch.nn.Identity())
    seen = {"any length", "definition"}  # by the test above
    for library, sizes in itertools.product(["torch", "onednn"], SIZES):
        for dtype, mask in itertools.product(TYPES, rules(*sizes)):
            with linear_by(library):
                seen.add(explain(*heads(*sizes, dtype), mask).kernel)
    k = torch.empty(1, 8, 2048, 64)
    seen.add(explain(k[..., :1, :], k, k).kernel)
    gpu = on_a_gpu(2, 2, 200, 64)
    seen.add(explain(gpu, gpu, gpu, masks.prefix(2)).kernel)
    for dtype in (torch.bfloat16, torch.float32):
        q = on_a_gpu(2, 200, 64, dtype=dtype)
        call = Call.of(q, q, q, masks.padding([150, 50]), scale=1.0, lengths=(150, 50))
        seen.add(next(row.name for row in dispatch.TABLE if not row.against(call)))
    assert seen == set(names())


def test_nothing_is_computed():
    for sizes in SIZES:
        for mask in rules(*sizes):
            q, k, v = heads(*sizes)
            ops = trace_ops(lambda q=q, k=k, v=v, mask=mask: explain(q, k, v, mask))
            assert {op.result for op in ops} <= {"view"}


def test_it_is_printed_as_the_table():
    q = torch.empty(1, 8, 512, 64)
    with linear_by("onednn"), torch.no_grad():
        lines = repr(explain(q, q, q, masks.causal)).splitlines()
        trained = explain(q.requires_grad_(), q, q, masks.causal)
    assert lines[0] == (
        "q (1, 8, 512, 64), k (1, 8, 512, 64), float32 on cpu, mask causal, dropout 0"
    )
    assert [line.split("  ")[0] for line in lines[1:]] == names()
    answers = [line[len("sequences end to end") + 2 :] for line in lines[1:]]
    assert answers[0] == "nothing is recorded"
    assert answers[8].startswith("RUNS: a CPU where oneDNN is chosen")
    assert set(answers[9:]) == {"not asked"}
    assert trained.kernel == "tiles"  # without gradients nobody trains


@pytest.mark.parametrize("grad", [True, False])
def test_the_question_of_a_first_reader(grad):
    """512 tokens in float32, causal, trained, on a CPU where oneDNN was chosen."""
    q = torch.empty(1, 8, 512, 64, requires_grad=grad)
    with linear_by("onednn"):
        found = explain(q, q, q, masks.causal)
    assert found.kernel == ("causal SDPA" if grad else "tiles")
    if grad:
        assert found.refused["tiles"] == "in float32 SDPA has the faster backward"


def test_the_words_of_a_row_name_its_thresholds():
    words = {row.name: row.when for row in dispatch.TABLE}
    assert f"{conditions.MOST_CACHED // 2**20} MiB" in words["keys first"]
    written = f"{conditions.FEWEST_WRITTEN} to {conditions.MOST_WRITTEN} tokens"
    assert written in words["written weights"]
    assert f"({conditions.FEWEST_WRITTEN_UNTRAINED} to" in words["written weights"]
    assert f"bfloat16 from {conditions.FEWEST_TILED} tokens" in words["tiles"]
    assert f"float32 from {conditions.FEWEST_TILED_FLOAT32} tokens" in words["tiles"]
    assert f"{blocks.FEWEST_FINE} to {blocks.MOST_FINE}" in words["causal SDPA"]
    assert f"{flex.FEWEST} queries" in words["FlexAttention"]
    assert f"{blocks.COARSE} queries at a time, or {blocks.FINE}" in words["blocks of queries"]
