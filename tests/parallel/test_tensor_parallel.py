"""Two processes give the numbers of one, say what they must and nothing else, and end.

They are started once; ``on_ranks`` says what each does. A rank is a process of its own on the
CPU, so that the tests need neither a GPU nor any name but localhost.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import mhsa_lib
from mhsa_lib.parallel import tensor_parallel
from mhsa_lib.parallel.comparison import sent
from tests.helpers import on_ranks

KINDS = [*on_ranks.KINDS]
STAGES = [kind for kind in KINDS if not kind.startswith("fused")]
SCRIPT = Path(on_ranks.__file__)
TORCHRUN = [
    *(sys.executable, "-m", "torch.distributed.run"),
    *("--standalone", "--local-addr=localhost", "--nproc-per-node=2"),
]


def environment(**more: str) -> dict[str, str]:
    """The library under test, one thread each, no GPU, no name but localhost."""
    path = str(Path(mhsa_lib.__file__).parent.parent)
    quiet = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if sys.platform == "linux":
        quiet["GLOO_SOCKET_IFNAME"] = "lo"
    return os.environ | quiet | more


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What both ranks found in all experiments, and how they ended."""
    folder = tmp_path_factory.mktemp("ranks")
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    common = {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store is here, not in rank 0
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
    }
    processes = []
    for rank in "01":
        with (folder / f"{rank}.txt").open("w", encoding="utf-8") as said:
            processes.append(
                subprocess.Popen(
                    [sys.executable, SCRIPT, folder],
                    env=environment(**common, RANK=rank, LOCAL_RANK=rank),
                    stderr=said,
                )
            )
    try:
        ended = [process.wait(timeout=240) for process in reversed(processes)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert ended == [on_ranks.DEAD, 0], [
        (folder / f"{r}.txt").read_text(encoding="utf-8") for r in "01"
    ]
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in "01"]


# --- equal to one process -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
def test_outputs_and_gradients_are_those_of_one_process(ranks, kind, dtype, tolerance):
    for rank in ranks:
        differences = rank["equal"][f"{kind}, torch.{dtype}"]
        assert {"output", "gradient of x", "W_O.weight"} <= differences.keys()
        assert max(differences.values()) < tolerance


@pytest.mark.parametrize("kind", on_ranks.CROSSED)
def test_so_they_are_for_cross_attention_with_masks_and_named_arguments(ranks, kind):
    for rank in ranks:
        assert max(rank["calls"][kind]) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_training_leaves_them_equal_and_what_is_frozen_stays_so(ranks, kind):
    for rank in ranks:
        far, learns = rank["learning"][kind]
        assert far < 1e-10
        assert not learns


@pytest.mark.parametrize("kind", ["mha", "fused"])
def test_without_the_sum_forward_the_output_is_another(ranks, kind):
    for rank in ranks:
        differences, differs = rank["left_out"][f"{kind}, forward"]
        assert differs
        assert differences.pop("output") > 0.1
        assert max(differences.values()) < 1e-10  # dL/dy was given, W_O is linear


@pytest.mark.parametrize("kind", ["mha", "fused"])
def test_without_the_sum_backward_only_the_layers_below_would_notice(ranks, kind):
    for rank in ranks:
        differences, differs = rank["left_out"][f"{kind}, backward"]
        assert differs
        assert differences.pop("gradient of x") > 0.1
        assert max(differences.values()) < 1e-10


# --- what ranks say to each other -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_all_reduce_forward_and_one_backward(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["self"] == [[n, {"all_reduce": n}] for n in (1, 1 + 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_has_a_gradient_of_its_own_to_add_up(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["cross"] == [[n, {"all_reduce": n}] for n in (1, 1 + 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_listener_hears_what_is_said_and_how_many_bytes(ranks, kind):
    for rank in ranks:
        assert rank["talk"][kind]["heard"] == [["all_reduce", [2, 6, 12], 2 * 6 * 12 * 8]]


def test_around_a_ring_all_ranks_send_what_the_ends_of_a_line_would():
    for n in (1, 2, 3, 8):
        parts = torch.arange(n * n).view(n, n)  # rank r starts with row r
        hops = [(r, (r - step) % n) for step in range(n - 1) for r in range(n)]
        for r, part in hops:  # in each step rank r hands one part to the next rank
            parts[(r + 1) % n, part] += parts[r, part]
        complete = [parts[r, (r + 1) % n] for r in range(n)]
        assert [int(c) for c in complete] == [
            sum(n * k + (r + 1) % n for k in range(n)) for r in range(n)
        ]
        assert sent(n, n) == 2 * len(hops) / n  # as many hops again hand the sums round


# --- what a rank holds ------------------------------------------------------------------------


def test_a_trace_shows_the_part_of_a_rank(ranks):
    for rank in ranks:
        whole, here = rank["shapes"]["sizes"]
        assert here == whole | {"head": 2, "kv_head": 2, "d_heads": 6, "d_kv_heads": 6}
        assert rank["shapes"]["y"] < 1e-10


def test_the_work_of_all_ranks_is_the_work_of_one_process(ranks):
    (whole, one), (_, other) = (rank["shapes"]["flops"] for rank in ranks)
    assert sum(whole.values()) > 0
    assert {wire: one[wire] + other[wire] for wire in whole} == whole


def test_weights_can_be_put_together_again(ranks):
    assert [rank["shapes"]["W_Q"] for rank in ranks] == [0, 0]


@pytest.mark.parametrize(("kind", "heads"), [("mha", 2), ("gqa", 1), ("rotary", 1)])
def test_a_cache_holds_the_heads_of_its_rank(ranks, kind, heads):
    for rank in ranks:
        far, held = rank["decoding"][kind]
        assert far < 1e-10
        assert held == heads


@pytest.mark.parametrize(("kind", "heads"), [("fused", 2), ("fused gqa", 1)])
def test_so_does_the_cache_of_a_fused_attention(ranks, kind, heads):
    for rank in ranks:
        far, held = rank["decoding"][kind]
        assert far < 1e-10
        assert held == heads


# --- what cannot be sharded ------------------------------------------------------------------


def test_heads_that_do_not_divide_are_refused_before_anything_is_changed(ranks):
    said = "2 ranks cannot share n_heads=3 evenly; possible numbers of ranks: 1, 3. kept"
    for rank in ranks:
        assert rank["refusals"]["n_heads"] == rank["refusals"]["fused"] == said


def test_so_are_fewer_key_heads_than_ranks(ranks):
    for rank in ranks:
        assert rank["refusals"]["n_kv_heads"] == (
            "2 ranks cannot share n_kv_heads=1 evenly; possible numbers of ranks: 1; for more, "
            "repeat each head of keys and values first. kept"
        )


def test_so_is_a_mesh_of_several_axes(ranks):
    for rank in ranks:
        assert rank["refusals"]["mesh"].startswith("mesh has 2 axes; heads are sharded along")


def test_so_is_what_is_shared_already(ranks):
    for rank in ranks:
        assert rank["refusals"]["twice"] == (
            "project.W_Q.weight is a DTensor, sharded among ranks already; pass an attention "
            "that is whole. kept"
        )


# --- ends -------------------------------------------------------------------------------------


def test_who_waits_for_a_dead_rank_ends_at_once_with_an_error(ranks):
    error, seconds = ranks[0]["alone"]
    assert error != "NO ERROR"
    assert seconds < 2


@pytest.mark.slow  # what waits for a dead rank is above; this is torchrun's own part
def test_torchrun_ends_when_a_rank_dies(tmp_path):
    start = time.monotonic()
    run = subprocess.run(
        [*TORCHRUN, SCRIPT, tmp_path, "die"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.stdout.count("met") == 2  # both ranks had met, in lines that may be mixed up
    assert "went on" not in run.stdout
    assert run.returncode != 0
    assert time.monotonic() - start < 120  # they might have waited 600


def test_together_waits_as_long_as_it_is_told():
    with tensor_parallel.process_group(7):
        backend = dist.group.WORLD._get_backend(torch.device("cpu"))
        assert backend.options._timeout.total_seconds() == 7


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_some_time_is_needed_to_meet(seconds):
    with (
        pytest.raises(ValueError, match="leaves no time to meet"),
        tensor_parallel.process_group(seconds),
    ):
        pass


# --- the command ------------------------------------------------------------------------------


def test_torchrun_shows_shapes_talk_and_equality(tmp_path):
    run = subprocess.run(
        [*TORCHRUN, "-m", "mhsa_lib.parallel"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == "MultiHeadAttention, n_heads=4, float64, 2 ranks, gloo"
    assert "scores   (2, 4, 6, 6)  (2, 2, 6, 6)  (2, 2, 6, 6)" in lines
    assert "W_O      (12, 12)      (12, 6)       (12, 6)" in lines
    assert sum(line.startswith("all_reduce") for line in lines) == 2
    assert lines[-3:] == [
        "output                       less than 1e-10",
        "gradient of x                less than 1e-10",
        "gradients of parameters      less than 1e-10",
    ]


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["parallel", *arguments])
    with pytest.raises(SystemExit) as ended:
        tensor_parallel.main()
    return ended.value.code, capsys.readouterr().out


@pytest.mark.parametrize("more", [[], ["--fused", "--n-kv-heads", "2", "--float32"]])
def test_one_process_by_itself_says_nothing(monkeypatch, capsys, more):
    code, printed = command(monkeypatch, capsys, *more)
    assert not code
    assert "1 rank, " in printed
    assert "no collective" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-heads", "5"], "mhsa_lib.parallel: n_heads=5 does not divide d_model=12"),
        (["--n-kv-heads", "3"], "mhsa_lib.parallel: n_kv_heads=3 does not divide n_heads=4"),
        (["--tokens", "0"], "mhsa_lib.parallel: tokens=0 is not a size"),
        (["--timeout", "0"], "mhsa_lib.parallel: timeout=0.0 leaves no time to meet"),
    ],
)
def test_bad_arguments_are_named(monkeypatch, capsys, arguments, message):
    code, printed = command(monkeypatch, capsys, *arguments)
    assert code.startswith(message)
    assert printed == ""


def test_the_command_fails_where_numbers_differ(monkeypatch, capsys):
    def halved(attention, mesh):
        torch.nn.init.zeros_(attention.W_O.weight)
        return attention

    monkeypatch.setattr(tensor_parallel, "parallelize", halved)
    code, printed = command(monkeypatch, capsys)
    assert code
    assert "output                       less" not in printed


def test_the_command_explains_itself(monkeypatch, capsys):
    code, printed = command(monkeypatch, capsys, "--help")
    assert code == 0
    assert "torchrun --nproc-per-node=2 -m mhsa_lib.parallel" in printed
