"""A trained model small enough to be read: two layers of attention and nothing else.

It was trained to go on with sequences that repeat (``tools/build/train_repeater.py``), and
learned a previous-token head and induction heads. There is no MLP and no norm: its logits are
a plain sum of what the tokens, the positions and the heads wrote.

Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.editing import edit
from mhsa_lib.tracing.wires import trace

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "
START = len(ALPHABET)
"""The id of the token that every sequence begins with."""

FOLDER = Path(__file__).parent
WEIGHTS, RECORD = FOLDER / "repeater.safetensors", FOLDER / "repeater.json"
SHA256 = "bb5dd232c3f7f036b9e238c269599743672f8a9126960672ba448c2094b98a61"
"""Of the weights; training again on the same machine gives the same file."""


class Repeater(nn.Module):
    """Embed, attend and add, once per layer; then compare with every token of the alphabet.

    Parameters
    ----------
    n_layers : number of attention layers
    d_model : width of the residual stream, in columns
    n_heads : heads of each layer
    max_tokens : positions it has learned, the start token's included
    """

    def __init__(
        self, n_layers: int = 2, d_model: int = 64, n_heads: int = 4, max_tokens: int = 64
    ) -> None:
        super().__init__()
        self.n_layers, self.n_heads, self.max_tokens = n_layers, n_heads, max_tokens
        self.tokens = nn.Embedding(len(ALPHABET) + 1, d_model)
        self.positions = nn.Embedding(max_tokens, d_model)
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads) for _ in range(n_layers)
        )
        self.unembed = nn.Linear(d_model, len(ALPHABET) + 1, bias=False)

    def embed(self, ids: Tensor) -> Tensor:
        """What the first layer reads: a vector for the token plus one for its position."""
        return self.tokens(ids) + self.positions.weight[: ids.shape[-1]]

    def forward(self, ids: Tensor) -> Tensor:
        """Logits for the token after each position: ids (…, seq) to (…, seq, token)."""
        stream = self.embed(ids)
        for attention in self.layers:
            stream = stream + attention(stream, mask=masks.causal)
        return self.unembed(stream)

    @torch.no_grad()
    def weights(self, ids: Tensor) -> Tensor:
        """Every head's weights: ids (…, seq) to (layer, …, head, query, key)."""
        with ExitStack() as stack:
            traces = [stack.enter_context(trace(attention)) for attention in self.layers]
            self(ids)
            return torch.stack([wires["weights"] for wires in traces])

    def attend(self, text: str) -> tuple[list[str], Tensor]:
        """Tokens of the text and every head's weights (layer, head, query, key)."""
        ids = encode(text, self.max_tokens)
        return spell(ids), self.weights(ids)

    @torch.no_grad()
    def predict(self, text: str) -> Tensor:
        """Probabilities of the token after each token of the text: (seq, token)."""
        return self(encode(text, self.max_tokens)).softmax(dim=-1)


@contextmanager
def without(model: Repeater, *heads: tuple[int, int]) -> Iterator[None]:
    """Switch heads off, each given as (layer, head), while the block runs: their ``z`` is zero.

    >>> model = load()
    >>> with without(model, (0, 2)):
    ...     model.predict("abcxyzabcx")[-1].max() < 0.5
    tensor(True)
    """
    with ExitStack() as stack:
        for layer, head in heads:
            if not (0 <= layer < model.n_layers and 0 <= head < model.n_heads):
                raise ValueError(
                    f"there is no head {head} in layer {layer}; the model has layers 0 to "
                    f"{model.n_layers - 1} with heads 0 to {model.n_heads - 1}."
                )
            stack.enter_context(edit(model.layers[layer], "z", partial(_silence, head)))
        yield


def encode(text: str, max_tokens: int = 64) -> Tensor:
    """Ids of the start token and of every character; capital letters count as small ones.

    Raises ``ValueError`` for an empty text, a character it never saw, or too many of them.

    >>> encode("Ab 1")
    tensor([37,  0,  1, 36, 27])
    >>> encode("naïve")
    Traceback (most recent call last):
    ...
    ValueError: character 3, “ï” (U+00EF), is not one that the model has learned; it reads ...
    """
    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}; pass one string.")
    reads = "it reads a to z, 0 to 9 and the space."
    if not text:
        raise ValueError(f"the text is empty; {reads}")
    if len(text) >= max_tokens:
        raise ValueError(
            f"the text has {len(text)} characters, the model has positions for "
            f"{max_tokens - 1}; shorten it."
        )
    ids = [ALPHABET.find(c.lower() if c.isascii() else c) for c in text]
    if -1 in ids:
        place = ids.index(-1)
        raise ValueError(
            f"character {place + 1}, {_named(text[place])}, "
            f"is not one that the model has learned; {reads}"
        )
    return torch.tensor([START, *ids])


def spell(ids: Tensor) -> list[str]:
    """A visible sign for every token: ▷ for the start, ␣ for the space.

    >>> spell(encode("a b"))
    ['▷', 'a', '␣', 'b']
    """
    signs = ALPHABET.replace(" ", "␣") + "▷"
    return [signs[i] for i in ids.tolist()]


def load(path: Path = WEIGHTS) -> Repeater:
    """The trained model, in float32; its weights are stored in half precision.

    Raises ``FileNotFoundError`` for a missing file and ``ValueError`` for one that is damaged
    or another model's.

    >>> model = load()
    >>> spell(model.predict("abcxyzabcx")[-1:].argmax(dim=-1))
    ['y']
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as read

    repair = (
        "train it again with `python -m tools.build.train_repeater`, or reinstall mhsa_lib."
    )
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; {repair}")
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if path == WEIGHTS and digest != SHA256:
        raise ValueError(
            f"{path} has SHA-256 {digest}, the repeater's file has {SHA256}: it is damaged; "
            f"{repair}"
        )
    try:
        model, stored = Repeater(), read(data)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be read ({error}); {repair}") from error
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in stored.items()}
    if wanted != found:
        wrong = sorted(dict(wanted.items() ^ found.items()))
        raise ValueError(f"{path} does not hold this model: {', '.join(wrong)}; {repair}")
    model.load_state_dict(stored)
    return model.eval().requires_grad_(False)


def recorded() -> dict[str, Any]:
    """What the training script wrote down: curves, accuracies, the score of every head.

    >>> sorted(recorded()["two_layers"])
    ['accuracy', 'curve', 'seconds']
    """
    return json.loads(RECORD.read_text(encoding="utf-8"))


def _silence(head: int, z: Tensor) -> Tensor:
    keep = torch.arange(z.shape[-3], device=z.device) != head
    return z * keep[:, None, None]


def _named(character: str) -> str:
    code = f"U+{ord(character):04X}"
    visible = unicodedata.category(character)[0] in "LNPS"
    return f"“{character}” ({code})" if visible else code
