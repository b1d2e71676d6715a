"""MiniLM as it travels to a page: 12 bits a number, its words, and the code that runs it.

Every row of a matrix is whole numbers from -2047 to 2047 times a scale of its own; norms and
biases stay in float32. With 8 bits a weight of attention was off by up to 0.07, with 12 it is
by 0.005. A page computes in a worker, and a page from a file may not load one: so the text of
the worker travels with the numbers that it needs.
"""

import json
from functools import cache

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.widgets.assets import Asset
from mhsa_book.widgets.figure import code, pieces

MODEL = cache(models.load)
MOST_TOKENS = 128
"""With [CLS] and [SEP]; longer texts are cut, as the model's own tokenizer does."""

LARGEST = 2047
ENGINE = "own_sentence/engine/worker"


@cache
def asset() -> Asset:
    """The length of the head in four bytes, the head in JSON, and the numbers that it lists."""
    tensors = {name: _cut(name, tensor) for name, tensor in MODEL().tensors().items()}
    head = {
        "sizes": {
            "layers": MODEL().n_layers,
            "heads": MODEL().n_heads,
            "width": MODEL().d_model,
            "eps": MODEL().eps,
            "tokens": MOST_TOKENS,
        },
        "code": "\n".join(code(piece, "js") for piece in pieces(ENGINE)),
        "tensors": [
            [name, *torch.atleast_2d(tensor).shape, 32 if tensor.ndim == 1 else 12]
            for name, tensor in tensors.items()
        ],
        "words": MODEL().words(),
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    numbers = b"".join(
        packed(tensor) if tensor.ndim == 2 else tensor.numpy().astype("<f4").tobytes()
        for tensor in tensors.values()
    )
    return Asset("minilm", len(text).to_bytes(4, "little") + text + numbers)


def packed(matrix: Tensor) -> bytes:
    """The scales of the rows in float32, then two numbers in every three bytes, low bits first.

    >>> packed(torch.tensor([[0.0, 2047.0, -2047.0, 1.0]]))[4:].hex()
    '00f8ff011080'
    """
    scale = matrix.abs().amax(dim=1, keepdim=True) / LARGEST
    whole = (matrix / scale.where(scale > 0, 1)).round().int() + LARGEST + 1
    one, two = whole[:, ::2], whole[:, 1::2]
    bytes_ = torch.stack([one & 255, (one >> 8) | ((two & 15) << 4), two >> 4], dim=-1)
    return scale.numpy().astype("<f4").tobytes() + bytes_.byte().numpy().tobytes()


def unpacked(matrix: Tensor) -> Tensor:
    """A matrix as the page has it again: the nearest steps of each row's scale.

    >>> unpacked(torch.tensor([[0.0, 2047.0, 0.4]])).tolist()
    [[0.0, 2047.0, 0.0]]
    """
    scale = matrix.abs().amax(dim=1, keepdim=True) / LARGEST
    return (matrix / scale.where(scale > 0, 1)).round() * scale


def _cut(name: str, tensor: Tensor) -> Tensor:
    """Without the positions that no text reaches."""
    return tensor[:MOST_TOKENS] if "position" in name else tensor
