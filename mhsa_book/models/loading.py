"""Pretrained models by their names."""

from collections.abc import Callable
from typing import Any, Literal, overload

from mhsa_book.models import minilm, smollm2
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.minilm import PretrainedModel

LOADERS: dict[str, Callable[[], Any]] = {minilm.NAME: minilm.load, smollm2.NAME: smollm2.load}


@overload
def load(name: Literal["all-MiniLM-L6-v2"] = "all-MiniLM-L6-v2") -> PretrainedModel: ...
@overload
def load(name: Literal["SmolLM2-135M"]) -> LanguageModel: ...
def load(name: str = minilm.NAME) -> PretrainedModel | LanguageModel:
    """A pretrained model by name: "all-MiniLM-L6-v2", an encoder, or "SmolLM2-135M".

    Only the official files are accepted. Raises ``ValueError`` for an unknown name or another
    file, ``FileNotFoundError``, with the way to get it, where there is none, and
    ``MemoryError`` where the model would not fit.
    """
    if name not in LOADERS:
        raise ValueError(f"no model {name!r}; there are {' and '.join(map(repr, LOADERS))}.")
    return LOADERS[name]()
