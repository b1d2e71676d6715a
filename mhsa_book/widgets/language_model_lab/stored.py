"""What the figure shows before the model is loaded, and the mean output of every head.

``tools/build/read_first_prompt.py`` computes both, and a test compares them: so a page is alive
without 98 MB, and a mean is the same on every machine.
"""

import base64
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mhsa_book.examples import novel
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.widgets.language_model_lab.answers import Answers

PROMPT = "When Mary and John went to the store, John gave a drink to"
N_LINES = 24
"""Lines of the novel over whose tokens the mean of a head is taken."""

FILE = Path(__file__).with_name("stored.json")


@cache
def results() -> Mapping[str, Any]:
    """``found``, ``added`` and ``attention`` of the prompt, as the figure has them.

    >>> results()["found"]["next"][0]["text"]
    ' Mary'
    """
    found = json.loads(FILE.read_text(encoding="utf-8"))
    weights = base64.b64decode(found["attention"]["weights"])
    return {**found, "attention": {**found["attention"], "weights": weights}}


@cache
def means() -> Tensor:
    """The mean z of every head (layer · head, d_head), in half precision.

    >>> means().shape
    torch.Size([270, 64])
    """
    numbers = np.frombuffer(base64.b64decode(results()["means"]), dtype="<f2")
    return torch.from_numpy(numbers.astype("<f4")).reshape(270, -1)


def computed(lm: LanguageModel) -> dict[str, Any]:
    """What is stored, from the model."""
    means = mean_outputs(lm)
    answers = Answers(lm, means)
    found = answers.read(PROMPT, [], "zero")
    attention = answers.look()
    return {
        "found": found,
        "added": answers.adds(),
        "attention": attention | {"weights": _text(attention["weights"])},
        "means": _text(means.numpy().astype("<f2").tobytes()),
    }


def mean_outputs(lm: LanguageModel) -> Tensor:
    """Every head's z, (layer · head, d_head), its mean over all tokens of some lines."""
    z = torch.cat([lm._runner.heads(lm.ids(line)) for line in lines()], dim=2)
    return z.mean(dim=2).flatten(0, 1)


def lines() -> list[str]:
    """The first long lines of the novel, as they are printed."""
    printed = Path(novel.__file__).with_name("pride_and_prejudice.txt")
    text = printed.read_text(encoding="utf-8")
    long = (line.strip() for line in text.splitlines() if len(line.split()) > 9)
    return [line for line, _ in zip(long, range(N_LINES), strict=False)]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
