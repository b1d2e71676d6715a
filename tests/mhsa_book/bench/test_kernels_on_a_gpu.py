"""The needs of the GPU benchmark, on a CPU: every way that runs here is right."""

import json

import pytest
import torch

from mhsa_book.bench import kernels_on_a_gpu as bench
from mhsa_book.bench.cuda_core import CudaClock
from mhsa_book.results.benchmarks import FOLDER

CLOCK = CudaClock(flush=torch.zeros(1))
STORED = FOLDER.parent / "kernels_on_a_gpu.json"
NAMES = ("causal", "fewer KV heads", "window", "documents", "soft cap", "sinks")
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bench, "DEVICE", "cpu")
    monkeypatch.setattr(bench, "N_HEADS", 4)
    monkeypatch.setattr(bench, "WINDOW", 20)
    monkeypatch.setattr(bench, "CAP", 0.5)  # so that it changes something
    monkeypatch.setattr(bench, "seconds", lambda clock, call: 0.5)
    monkeypatch.setattr(bench, "peak", lambda call: 1_000_000)
    monkeypatch.setattr(bench.torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(bench.torch, "compile", lambda function: function)


@pytest.mark.parametrize("name", NAMES)
def test_every_way_that_runs_here_is_right(name):
    need = bench.Need(name, 96, 96, kv_heads=4 if name == "causal" else 2)
    rows = {row["way"]: row for row in bench.rows(need, CLOCK)}
    ran = {way for way, row in rows.items() if "reason" not in row}
    assert {"all weights written", "ours"} <= ran
    assert ("SDPA, boolean tensor" in ran) == (name not in ("soft cap", "sinks"))
    assert all(rows[way]["error"] < 0.03 for way in ran)
    assert all(row.get("reason", "x") for row in rows.values())
    assert rows["ours"]["ms"] == 500
    pairs = {"window": 96 * 20 - 190, "documents": 4 * 24 * 25 // 2}
    flops = 4 * 4 * 128 * pairs.get(name, 96 * 97 // 2)
    assert rows["ours"]["tflops"] == pytest.approx(flops / 0.5 / 1e12)


@pytest.mark.parametrize("n_query", [1, 16])
def test_few_queries_stand_behind_the_text(n_query):
    need = bench.Need("few", n_query, 64, batch=2, kv_heads=2)
    rows = {row["way"]: row for row in bench.rows(need, CLOCK)}
    assert rows["ours"]["error"] < 0.03
    assert rows["all weights written"]["error"] < 0.03
    assert ("SDPA, as it chooses" in rows) == (n_query == 1)


def test_what_cannot_run_says_why():
    need = bench.Need("sinks", 96, 96, kv_heads=2)
    rows = {row["way"]: row for row in bench.rows(need, CLOCK)}
    assert (
        rows["varlen_attn"]["reason"] == "NotImplementedError: it has neither a cap nor sinks"
    )


def test_the_stored_run_measured_every_need_and_no_way_was_wrong():
    rows = json.loads(STORED.read_text(encoding="utf-8"))["rows"]
    assert {row["need"] for row in rows} == {*NAMES, "16 queries behind a text", "one query"}
    assert all(row["error"] < 0.005 for row in rows if "reason" not in row)
    assert all(row["reason"] for row in rows if "ms" not in row)
