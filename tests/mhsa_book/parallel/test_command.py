"""The command shows shapes, talk and equality, and names what is wrong."""

import subprocess
import sys

import pytest
import torch
from packaging.version import Version

from mhsa_book.parallel import command as module
from tests.mhsa_lib.parallel.processes import TORCHRUN, environment


def test_torchrun_shows_shapes_talk_and_equality(tmp_path):
    run = subprocess.run(
        [*TORCHRUN, "-m", "mhsa_book.parallel"],
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
        module.main()
    return ended.value.code, capsys.readouterr().out


@pytest.mark.skipif(
    Version(torch.__version__) < Version("2.7"),
    reason="torch 2.5 cannot shard over one rank, and 2.6 sums over it all the same",
)
@pytest.mark.parametrize(
    "more", [[], ["--fused", "--n-kv-heads", "2", "--float32"], ["--d-latent", "4"]]
)
def test_one_process_by_itself_says_nothing(monkeypatch, capsys, more):
    code, printed = command(monkeypatch, capsys, *more)
    assert not code
    assert "1 rank, " in printed
    assert "no collective" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-heads", "5"], "mhsa_book.parallel: n_heads=5 does not divide d_model=12"),
        (["--n-kv-heads", "3"], "mhsa_book.parallel: n_kv_heads=3 does not divide n_heads=4"),
        (["--tokens", "0"], "mhsa_book.parallel: tokens=0 is not a size"),
        (
            ["--cut", "tokens", "--fused"],
            "mhsa_book.parallel: FusedMultiHeadAttention may need",
        ),
        (
            ["--cut", "tokens", "--leave-out", "forward"],
            "mhsa_book.parallel: --leave-out names",
        ),
        (["--d-latent", "4", "--fused"], "mhsa_book.parallel: --d-latent has five stages"),
        (["--timeout", "0"], "mhsa_book.parallel: timeout=0.0 leaves no time to meet"),
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

    monkeypatch.setitem(module.WAYS, "heads", module.WAYS["heads"]._replace(divide=halved))
    code, printed = command(monkeypatch, capsys)
    assert code
    assert "output                       less" not in printed


def test_the_command_explains_itself(monkeypatch, capsys):
    code, printed = command(monkeypatch, capsys, "--help")
    assert code == 0
    assert "torchrun --nproc-per-node=2 -m mhsa_book.parallel" in printed
